//! [`check`]: the invariants that every layout must keep.

use super::{Model, Tg};
use crate::layout::{Held, Layout};
use crate::link::Link;
use crate::structs::{CfsRqFields, SeFields};
use core::ptr;
use corelocal::CpuId;
use crossbeam_epoch::{self as epoch, Guard};

/// Checks on every CPU, for every group:
///
/// * (a) the root has no entity, from the group and from its queue;
/// * (b) another group's entity is the same from the group and from its queue;
/// * (c) the entity owns that queue, the queue knows its group and its CPU's run queue;
/// * (d) the queue lies at the beginning of the co-located object (asserted at compile time);
/// * (e) the statistics are the same from the entity and from the group;
/// * (f) the entity's parent is the parent group's entity, none below the root; its depth is one
///   more than the parent's, 0 without one; it waits in the parent group's queue;
/// * the leaf list is linked both ways, has no queue that is not marked so and none twice, and
///   a child stands before its parent; no branch is left open;
/// * the throttle count is at least the parent's.
///
/// # Errors
///
/// The first group and CPU that break one, and which.
pub fn check<L: Layout>(model: &Model<L>) -> Result<(), String> {
    let guard = &epoch::pin();
    for cpu in model.cpus() {
        for index in 0..model.groups().len() {
            if let Some(tg) = model.groups().get(index, guard) {
                check_state(model, guard, index, tg, cpu)
                    .map_err(|what| format!("{} group {index} CPU {cpu}: {what}", L::NAME))?;
            }
        }
        check_leaf_list(model, guard, cpu)
            .map_err(|what| format!("{} CPU {cpu}: leaf list: {what}", L::NAME))?;
    }
    Ok(())
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

fn check_leaf_list<L: Layout>(model: &Model<L>, guard: &Guard, cpu: CpuId) -> Result<(), String> {
    let rq = model.rq(cpu);
    let groups = model.groups();
    let mut place = vec![0_usize; groups.len()];
    let (mut prev, mut link, mut length) = (None, &rq.leaf.next, 0_usize);
    while let Some(cfs) = link.get() {
        let index = cfs.tg().get() as usize;
        length += 1;
        if length > groups.len() {
            return Err("it has a cycle".to_owned());
        }
        if cfs.on_list().get() != 1 {
            return Err(format!("group {index} is not marked"));
        }
        if !cfs.leaf_cfs_rq_list().prev.is(prev) {
            return Err(format!("group {index} points back elsewhere"));
        }
        place[index] = length;
        (prev, link) = (Some(cfs), &cfs.leaf_cfs_rq_list().next);
    }
    if !rq.leaf.prev.is(prev) {
        return Err("its end is elsewhere".to_owned());
    }
    if !Link::is(&rq.tmp_alone_branch, None) {
        return Err("a branch is open".to_owned());
    }
    for index in 0..groups.len() {
        let Some(tg) = groups.get(index, guard) else { continue };
        let marked = L::tg_cfs_rq(tg, cpu).plain().on_list().get() != 0;
        let parent = place.get(tg.links.parent.get() as usize).copied().unwrap_or(0);
        if marked != (place[index] != 0) {
            return Err(format!("group {index} is marked but not there"));
        }
        if marked && parent != 0 && parent < place[index] {
            return Err(format!("group {index} stands behind its parent"));
        }
    }
    Ok(())
}
