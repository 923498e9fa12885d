//! [`check`]: the invariants that every layout must keep.

mod counts;
mod leaf_list;
#[cfg(test)]
mod tests;

use super::{Model, Tg};
use crate::layout::{Held, Layout};
use crate::structs::{CfsRqFields, Kernel, SeFields, TreeLinks};
use core::ptr;
use corelocal::CpuId;
use corelocal::colocated::HasPart;
use crossbeam_epoch::{self as epoch, Guard};

/// Checks on every CPU, for every group:
///
/// * (a) the root has no entity, from the group and from its queue;
/// * (b) another group's entity is the same from the group and from its queue;
/// * (c) the entity owns that queue, the queue knows its group and its CPU's run queue;
/// * (d) the queue lies at the beginning of the co-located object;
/// * (e) the statistics are the same from the entity and from the group;
/// * (f) the entity's parent is the parent group's entity, none below the root; its depth is one
///   more than the parent's, 0 without one; it waits in the parent group's queue;
/// * each group is once among its parent's children;
/// * the leaf list is linked both ways, has no queue that is not marked so and none twice, and
///   a child stands before its parent; no branch is left open;
/// * the throttle count is at least the parent's.
///
/// Of a model that [accounts](Model::accounts) also:
///
/// * the throttle count is the number of throttled groups among a group and those above it;
/// * a queue's weight is the sum of its entities', and its four counts add up from below; a
///   group's entity is queued if, and only if, something is queued below it;
/// * a queue with entities is on the leaf list, unless a throttle took it off;
/// * a group's load is the sum of what its queues reported.
///
/// All run queues are locked meanwhile: the caller must hold none. Groups must not come or go.
///
/// # Errors
///
/// The first group and CPU that break one, and which.
pub fn check<L: Layout>(model: &Model<L>) -> Result<(), String> {
    let guard = &epoch::pin();
    let _held: Vec<_> = model.cpus().map(|cpu| model.lock_rq(cpu)).collect();
    check_tree(model, guard).map_err(|what| format!("{} tree: {what}", L::NAME))?;
    for cpu in model.cpus() {
        for (index, tg) in groups(model, guard) {
            check_state(model, guard, index, tg, cpu)
                .map_err(|what| format!("{} group {index} CPU {cpu}: {what}", L::NAME))?;
        }
        leaf_list::check(model, guard, cpu)
            .map_err(|what| format!("{} CPU {cpu}: leaf list: {what}", L::NAME))?;
        if model.accounts() {
            counts::check(model, guard, cpu)
                .map_err(|what| format!("{} CPU {cpu}: {what}", L::NAME))?;
        }
    }
    if model.accounts() {
        counts::check_reports(model, guard).map_err(|what| format!("{} {what}", L::NAME))?;
    }
    Ok(())
}

/// All groups with their indices.
fn groups<'g, L: Layout>(
    model: &'g Model<L>,
    guard: &'g Guard,
) -> impl Iterator<Item = (usize, &'g Tg<L>)> {
    let all = 0..model.groups().len();
    all.filter_map(move |index| Some((index, model.groups().get(index, guard)?)))
}

/// Every group but the root is once among its parent's children, and nothing else is there.
fn check_tree<L: Layout>(model: &Model<L>, guard: &Guard) -> Result<(), String> {
    let mut met = vec![false; model.groups().len()];
    for (index, tg) in groups(model, guard) {
        let mut child = tg.links.child.get();
        while child != TreeLinks::NONE {
            let at = child as usize;
            let below = model.groups().get(at, guard).ok_or_else(|| format!("no group {at}"))?;
            if below.links.parent.get() as usize != index {
                return Err(format!("group {at} is a child of {index}, which is not its parent"));
            }
            if core::mem::replace(&mut met[at], true) {
                return Err(format!("group {at} is a child twice"));
            }
            child = below.links.sibling.get();
        }
    }
    let mut groups = groups(model, guard).skip(1);
    match groups.find(|(index, _)| !met[*index]) {
        Some((index, _)) => Err(format!("group {index} is no child of its parent")),
        None => Ok(()),
    }
}

fn ensure(holds: bool, what: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(what) }
}

fn check_state<L: Layout>(
    model: &Model<L>,
    guard: &Guard,
    index: usize,
    tg: &Tg<L>,
    cpu: CpuId,
) -> Result<(), &'static str> {
    let held = L::tg_cfs_rq(tg, cpu);
    let cfs = held.plain();
    let from_queue = L::cfs_rq_se(model.groups(), guard, held, cpu);
    ensure(cfs.tg().get() == index as u64, "(c) the queue's group is another")?;
    let rq = model.rq(cpu);
    ensure(cfs.rq().get() == ptr::from_ref(rq).addr() as u64, "(c) the queue's CPU is another")?;
    let place = <<L::K as Kernel>::State as HasPart<0>>::PART.offset();
    ensure(place == 0, "(d) the queue is not at the beginning of the co-located object")?;
    if index == 0 {
        ensure(ptr::eq(cfs, &raw const rq.cfs), "the root's queue is not in the run queue")?;
        ensure(L::tg_se(tg, cpu).is_none(), "(a) the root has an entity")?;
        ensure(from_queue.is_none(), "(a) the root's queue has an entity")?;
        return ensure(L::tg_stats(tg, cpu).is_none(), "the root has statistics");
    }
    let ent = L::tg_se(tg, cpu).ok_or("(b) there is no entity")?;
    let se = ent.plain();
    let same = from_queue.is_some_and(|other| ptr::eq(other.plain(), se));
    ensure(same, "(b) group and queue lead to different entities")?;
    ensure(se.my_q().is(Some(cfs)), "(c) the entity owns another queue")?;
    let stats = L::tg_stats(tg, cpu).ok_or("(e) there are no statistics")?;
    ensure(ptr::eq(L::stats_of(ent), stats), "(e) entity and group lead to different statistics")?;
    let parent = model.groups().get(tg.links.parent.get() as usize, guard).ok_or("no parent")?;
    let above = L::tg_se(parent, cpu).map(Held::plain);
    ensure(se.parent().is(above), "(f) the entity's parent is another")?;
    let depth = above.map_or(0, |above| above.depth().get() + 1);
    ensure(se.depth().get() == depth, "(f) the depth is wrong")?;
    let parent = L::tg_cfs_rq(parent, cpu).plain();
    ensure(se.cfs_rq().is(Some(parent)), "(f) the entity waits in another queue")?;
    let counts = (cfs.throttle_count().get(), parent.throttle_count().get());
    ensure(counts.0 >= counts.1 && counts.1 >= 0, "a throttled parent has an unthrottled child")
}
