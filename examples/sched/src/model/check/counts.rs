//! What adds up in a model that accounts: counts, weights, throttles, reports.
//!
//! No list of tasks is needed. What a queue has more than its groups' entities is its tasks: their
//! number and their weight, which are both 0 or neither, and each count must be what the groups
//! below bring and at most one more for each task.

use super::groups;
use crate::layout::{Held, Layout};
use crate::model::{CLOCK_STANDS, Model, THROTTLED, Throttle};
use crate::structs::{CfsRqFields, SeFields};
use corelocal::CpuId;
use crossbeam_epoch::Guard;

/// What a queue's groups bring to it.
#[derive(Clone, Copy, Default)]
struct Below {
    entities: u32,
    weight: u64,
    queued: u32,
    runnable: u32,
    idle: u32,
}

fn ensure(holds: bool, index: usize, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("group {index}: {what}")) }
}

/// Checks every queue of `cpu`.
pub(super) fn check<L: Layout>(model: &Model<L>, guard: &Guard, cpu: CpuId) -> Result<(), String> {
    let mut below = vec![Below::default(); model.groups().len()];
    for (index, tg) in groups(model, guard) {
        let cfs = L::tg_cfs_rq(tg, cpu).plain();
        let Some(se) = L::tg_se(tg, cpu).map(Held::plain) else { continue };
        let removed =
            model.throttle() == Throttle::Removes && cfs.throttled().get() & THROTTLED != 0;
        let queued = se.on_rq().get() != 0;
        ensure(queued == (cfs.nr_queued().get() != 0 && !removed), index, QUEUED)?;
        if queued {
            let parent = &mut below[tg.links.parent.get() as usize];
            parent.entities += 1;
            parent.weight += se.load().weight.get();
            parent.queued += cfs.h_nr_queued().get();
            parent.runnable += cfs.h_nr_runnable().get();
            let is_idle = cfs.idle().get() != 0;
            let idle = if is_idle { cfs.h_nr_queued() } else { cfs.h_nr_idle() };
            parent.idle += idle.get();
        }
        ensure((cfs.idle().get() != 0) == (tg.idle.get() != 0), index, "idle on some CPUs only")?;
        let parent = model.groups().get(tg.links.parent.get() as usize, guard);
        let above = L::tg_cfs_rq(parent.ok_or("no parent")?, cpu).plain().throttle_count().get();
        let own = cfs.throttled().get() & THROTTLED;
        ensure(cfs.throttle_count().get() == above + own, index, COUNT)?;
        let stands = cfs.throttled().get() & CLOCK_STANDS != 0;
        ensure(!stands || cfs.throttle_count().get() != 0, index, "its clock stands for nothing")?;
    }
    for (index, tg) in groups(model, guard) {
        check_sums::<L>(model, L::tg_cfs_rq(tg, cpu).plain(), index, below[index])?;
    }
    Ok(())
}

const QUEUED: &str = "its entity is queued without a reason, or is not with one";
const COUNT: &str = "the throttle count is not the number of throttles at and above it";

fn check_sums<L: Layout>(
    model: &Model<L>,
    cfs: &crate::layout::Cfs<L>,
    index: usize,
    below: Below,
) -> Result<(), String> {
    let entities = cfs.nr_queued().get();
    let tasks = entities.wrapping_sub(below.entities);
    ensure(below.entities <= entities, index, "more groups are queued in it than entities")?;
    let weight = cfs.load().weight.get();
    ensure(below.weight <= weight, index, "its groups weigh more than it does")?;
    let rest = weight - below.weight;
    ensure((tasks == 0) == (rest == 0), index, "its weight is not the sum of its entities'")?;
    let queued = cfs.h_nr_queued().get();
    ensure(queued == tasks + below.queued, index, "h_nr_queued does not add up")?;
    let between = |count: u32, least: u32| (least..=least + tasks).contains(&count);
    let runnable = cfs.h_nr_runnable().get();
    ensure(between(runnable, below.runnable), index, "h_nr_runnable does not add up")?;
    ensure(between(cfs.h_nr_idle().get(), below.idle), index, "h_nr_idle does not add up")?;
    let may_be_off = cfs.throttle_count().get() != 0 && model.throttle() == Throttle::Removes;
    let listed = cfs.on_list().get() != 0;
    ensure(entities == 0 || listed || may_be_off, index, "it has entities and is on no leaf list")
}

/// Checks that each group's load is what its queues reported.
pub(super) fn check_reports<L: Layout>(model: &Model<L>, guard: &Guard) -> Result<(), String> {
    for (index, tg) in groups(model, guard) {
        let queues = || model.cpus().map(|cpu| L::tg_cfs_rq(tg, cpu).plain());
        let load: u64 = queues().map(|cfs| cfs.tg_load_avg_contrib().get()).sum();
        ensure(load == tg.load_avg.0.get(), index, "its load is not what its queues reported")?;
        let contrib = |cfs: &crate::layout::Cfs<L>| {
            let contrib = crate::structs::LaterFields::tg_runnable_avg_contrib(cfs);
            contrib.map_or(0, |contrib| contrib.get())
        };
        let runnable: u64 = queues().map(contrib).sum();
        ensure(
            runnable == tg.load_avg.1.get(),
            index,
            "its runnable average is not what they did",
        )?;
    }
    Ok(())
}
