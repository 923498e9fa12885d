//! What a group's per-CPU state holds when the group comes online.

#![allow(unsafe_code, reason = "an entity's links to its queues and its parent")]

use super::{Model, Tg, leaf};
use crate::layout::{Held, Layout};
use crate::structs::{CfsRqFields, InQueue, SeFields, TreeLinks};
use crate::tree::{Limits, Tree};
use core::ptr;
use corelocal::CpuId;
use crossbeam_epoch as epoch;

/// The load of one ordinary task in load tracking's units.
const NICE_0: u64 = 1024;

/// Initialises every group of a model whose memory is zeroed and that nobody else knows of yet.
pub(super) fn init<L: Layout>(model: &Model<L>, tree: &Tree) {
    let guard = &epoch::pin();
    let groups = model.groups();
    init_groups(model, tree, guard);
    for index in 0..groups.len() {
        for cpu in model.cpus() {
            init_state(model, guard, index, cpu);
        }
    }
    for cpu in model.cpus() {
        let rq = model.rq(cpu);
        // Children have larger indices: appending backwards puts them before their parents.
        for index in (0..groups.len()).rev() {
            let tg = groups.get(index, guard).expect("just made");
            leaf::push_back(rq, L::tg_cfs_rq(tg, cpu).plain());
        }
    }
}

/// The same without any load: no queue is on a leaf list.
pub(super) fn init_idle<L: Layout>(model: &Model<L>, tree: &Tree) {
    let guard = &epoch::pin();
    init_groups(model, tree, guard);
    let groups = model.groups();
    for index in 0..=tree.groups.len() {
        let tg = groups.get(index, guard).expect("just made");
        let above = groups.get(tg.links.parent.get() as usize, guard);
        for cpu in model.cpus() {
            init_cfs_rq(model, tg, index, cpu);
            let next = (index + 1) % (tree.groups.len() + 1);
            let cfs = L::tg_cfs_rq(tg, cpu).plain();
            cfs.throttled_pelt_idle().set(next as u64);
            // Load tracking begins now, and the entities belong to their queues: they were
            // attached without load, as those of a group that comes online.
            let now = model.rq(cpu).clock_pelt.get();
            cfs.avg().last_update_time.set(now);
            if let Some(above) = above {
                init_tg_cfs_entry::<L>(tg, above, cpu);
                let se = L::tg_se(tg, cpu).expect("not the root").plain();
                se.avg().last_update_time.set(now);
            }
        }
    }
}

/// Limits and links of the task groups, and the clocks.
fn init_groups<L: Layout>(model: &Model<L>, tree: &Tree, guard: &epoch::Guard) {
    let groups = model.groups();
    for (at, group) in tree.groups.iter().enumerate() {
        let index = at + 1;
        let tg = groups.get(index, guard).expect("just made");
        set_limits(tg, group.limits);
        tg.links.parent.set(narrow(group.parent));
    }
    // Backwards, so that the first child is the first in the order of the tree.
    for (at, group) in tree.groups.iter().enumerate().rev() {
        let parent = groups.get(group.parent, guard).expect("just made");
        let tg = groups.get(at + 1, guard).expect("just made");
        tg.links.sibling.set(parent.links.child.get());
        parent.links.child.set(narrow(at + 1));
    }
    for cpu in model.cpus() {
        let rq = model.rq(cpu);
        rq.clock.set(1 << 30);
        rq.clock_pelt.set(1 << 29);
    }
}

/// Weight and bandwidth of a group.
pub(super) fn set_limits<R>(tg: &crate::structs::TaskGroup<R>, limits: Limits) {
    let Limits { shares, quota, period } = limits;
    tg.shares.set(shares << 10);
    tg.bandwidth.quota.set(quota.unwrap_or(u64::MAX));
    tg.bandwidth.period.set(period);
}

/// What a queue without load knows: its group and its CPU (`init_cfs_rq`, and what
/// `init_tg_cfs_entry` says of the queue).
pub(super) fn init_cfs_rq<L: Layout>(model: &Model<L>, tg: &Tg<L>, index: usize, cpu: CpuId) {
    let cfs = L::tg_cfs_rq(tg, cpu).plain();
    cfs.tg().set(index as u64);
    cfs.rq().set(ptr::from_ref(model.rq(cpu)).addr() as u64);
    cfs.runtime_enabled().set(i32::from(tg.bandwidth.quota.get() != u64::MAX));
}

/// Links a group's entity to the state of the group above, and gives it the group's weight
/// (`init_tg_cfs_entry`). Its averages are 0 (`init_entity_runnable_average` of a group).
pub(super) fn init_tg_cfs_entry<L: Layout>(tg: &Tg<L>, above: &Tg<L>, cpu: CpuId) {
    let se = L::tg_se(tg, cpu).expect("not the root").plain();
    let parent = L::tg_se(above, cpu).map(Held::plain);
    let owns = L::tg_cfs_rq(tg, cpu).plain();
    link::<L>(se, parent, L::tg_cfs_rq(above, cpu).plain(), owns);
    se.depth().set(parent.map_or(0, |parent| parent.depth().get() + 1));
    se.load().weight.set(tg.shares.get());
}

pub(super) fn narrow(index: usize) -> u32 {
    u32::try_from(index).ok().filter(|&i| i != TreeLinks::NONE).expect("MAX_GROUPS fits 32 bits")
}

/// The state of one group on one CPU, its ancestors' state being there.
fn init_state<L: Layout>(model: &Model<L>, guard: &epoch::Guard, index: usize, cpu: CpuId) {
    let groups = model.groups();
    let tg = groups.get(index, guard).expect("just made");
    init_cfs_rq(model, tg, index, cpu);
    let cfs = L::tg_cfs_rq(tg, cpu).plain();
    // Values that differ by group and CPU, so that a walk that goes astray has another sum.
    let mark = (index as u64 * 31 + cpu.index() as u64) % NICE_0;
    cfs.runtime_remaining().set(1);
    cfs.load().weight.set(NICE_0 << 10);
    cfs.nr_queued().set(1);
    cfs.h_nr_runnable().set(1 + (index % 3) as u32);
    cfs.avg().load_sum.set(mark * 47_742);
    cfs.avg().load_avg.set(mark);
    cfs.avg().util_avg.set(mark / 2);
    cfs.tg_load_avg_contrib().set(mark);
    cfs.throttled_clock_self_time().set(mark * 1000);
    // The walk's next group is read from here, on the line that the hot-plug walk touches anyway;
    // the model has no other use for the word.
    cfs.throttled_pelt_idle().set(((index + 1) % groups.len()) as u64);
    let Some(ent) = L::tg_se(tg, cpu) else { return };
    let se = ent.plain();
    let above = groups.get(tg.links.parent.get() as usize, guard).expect("a group has a parent");
    init_tg_cfs_entry::<L>(tg, above, cpu);
    se.on_rq().set(1);
    se.runnable_weight().set(1);
    se.avg().load_avg.set(mark + 1);
    L::stats_of(ent).wait_sum.set(mark * 7);
}

/// Links an entity to its parent, the queue it waits in, and the queue it owns.
fn link<L: Layout>(
    se: &crate::layout::Se<L>,
    parent: Option<&crate::layout::Se<L>>,
    waits_in: &<crate::layout::Se<L> as InQueue>::CfsRq,
    owns: &<crate::layout::Se<L> as InQueue>::CfsRq,
) {
    // SAFETY:
    // * a group is released only when it has no children, so an ancestor's state outlives this
    //   entity; objects do not move.
    unsafe { se.parent().set(parent) };
    // SAFETY:
    // * as above, or the root's queue, which lives as long as the model.
    unsafe { se.cfs_rq().set(Some(waits_in)) };
    // SAFETY:
    // * the queue and the entity belong to one group and are freed together.
    unsafe { se.my_q().set(Some(owns)) };
}
