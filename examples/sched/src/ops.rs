//! The walks that are timed. Each is generic over the layout, so that all layouts touch the same
//! fields in the same order; each returns a sum of what it read, which must not depend on the
//! layout (a test compares them) and keeps the compiler from leaving the walk out.

use crate::layout::{Held, Layout};
use crate::model::{Model, RqOf, Tg, leaf};
use crate::structs::{CfsRqFields, Rq, SchedAvg, SeFields, TreeLinks};
use core::hint::black_box;
use corelocal::CpuId;
use crossbeam_epoch::Guard;

/// A walk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// All groups of one CPU, as when a CPU goes offline: quota switched on? refill; throttled?
    CpuWalk,
    /// All groups of one CPU: load tracking of the queue, its entity, and the parent's queue.
    Blocked,
    /// The subtree of each child of the root on one CPU: throttle.
    Throttle,
    /// The same subtrees: unthrottle.
    Unthrottle,
    /// One group on all CPUs: sums of throttled and waited time. Here per-CPU memory is worse.
    GroupWalk,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::CpuWalk, Self::Blocked, Self::Throttle, Self::Unthrottle, Self::GroupWalk];

    /// The word in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuWalk => "cpu_walk",
            Self::Blocked => "blocked",
            Self::Throttle => "throttle",
            Self::Unthrottle => "unthrottle",
            Self::GroupWalk => "group_walk",
        }
    }

    /// Whether the walk also exists with the next group read from the object that is visited.
    pub const fn has_dependent(self) -> bool {
        matches!(self, Self::CpuWalk | Self::Blocked)
    }
}

/// What a walk did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Visits {
    /// Groups visited; for [`Operation::GroupWalk`] copies, one group having one a CPU.
    pub count: u64,
    /// The sum of what was read.
    pub sum: u64,
}

impl Visits {
    #[inline(always)]
    fn add(&mut self, read: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(read);
    }
}

/// How many groups [`Operation::GroupWalk`] visits, evenly spread over the tree.
const SAMPLED_GROUPS: usize = 64;

/// Walks once, on `cpu`'s state (for [`Operation::GroupWalk`]: on all CPUs').
///
/// # Panics
///
/// If the model has no such CPU.
#[inline(never)]
pub fn walk<L: Layout>(
    model: &Model<L>,
    guard: &Guard,
    operation: Operation,
    cpu: CpuId,
    dependent: bool,
) -> Visits {
    // Opaque, so that nothing about the CPU is known to the loop but that it does not change.
    let cpu = black_box(cpu);
    let _held = model.lock_rq(cpu);
    match (operation, dependent) {
        (Operation::CpuWalk, false) => each(model, guard, cpu, offline::<L>),
        (Operation::CpuWalk, true) => chained(model, guard, cpu, offline::<L>),
        (Operation::Blocked, false) => each(model, guard, cpu, blocked::<L>),
        (Operation::Blocked, true) => chained(model, guard, cpu, blocked::<L>),
        (Operation::Throttle, _) => subtrees(model, guard, cpu, throttle_down::<L>, |_| 0),
        (Operation::Unthrottle, _) => {
            let up = |step: Step<'_, L>| unthrottle_up(step);
            subtrees(model, guard, cpu, |_| 0, up)
        }
        (Operation::GroupWalk, _) => group_walk(model, guard),
    }
}

/// One visited group.
pub(crate) struct Step<'g, L: Layout> {
    pub(crate) model: &'g Model<L>,
    pub(crate) guard: &'g Guard,
    pub(crate) rq: &'g RqOf<L>,
    pub(crate) tg: &'g Tg<L>,
    pub(crate) cpu: CpuId,
}

/// All groups in the order of the list; the addresses do not depend on what is read.
#[inline(always)]
fn each<'g, L: Layout>(
    model: &'g Model<L>,
    guard: &'g Guard,
    cpu: CpuId,
    visit: impl Fn(Step<'g, L>) -> u64,
) -> Visits {
    let rq = model.rq(cpu);
    let mut visits = Visits::default();
    for tg in model.groups().iter(guard) {
        visits.add(visit(Step { model, guard, rq, tg, cpu }));
        L::visited();
    }
    visits
}

/// All groups, the index of the next one being read from the queue that is visited.
#[inline(always)]
fn chained<'g, L: Layout>(
    model: &'g Model<L>,
    guard: &'g Guard,
    cpu: CpuId,
    visit: impl Fn(Step<'g, L>) -> u64,
) -> Visits {
    let rq = model.rq(cpu);
    let mut visits = Visits::default();
    let mut next = 0;
    while let Some(tg) = model.groups().get(next, guard) {
        visits.add(visit(Step { model, guard, rq, tg, cpu }));
        next = L::tg_cfs_rq(tg, cpu).plain().throttled_pelt_idle().get() as usize;
        L::visited();
        if next == 0 {
            break;
        }
    }
    visits
}

/// The subtree of each child of the root in turn.
#[inline(always)]
fn subtrees<'g, L: Layout>(
    model: &'g Model<L>,
    guard: &'g Guard,
    cpu: CpuId,
    down: impl Fn(Step<'g, L>) -> u64,
    up: impl Fn(Step<'g, L>) -> u64,
) -> Visits {
    let rq = model.rq(cpu);
    let mut sum = 0_u64;
    let mut visits = Visits::default();
    let Some(root) = model.groups().get(0, guard) else { return visits };
    let mut child = L::touched(&root.links.child).get();
    while child != TreeLinks::NONE {
        let Some(top) = model.groups().get(child as usize, guard) else { break };
        let step = |tg| Step { model, guard, rq, tg, cpu };
        let down = |tg| visits.add(down(step(tg)));
        let up = |tg| sum = sum.wrapping_add(up(step(tg)));
        model.walk_tg_tree_from(guard, child, down, up);
        child = L::touched(&top.links.sibling).get();
    }
    visits.sum = visits.sum.wrapping_add(sum);
    visits
}

/// What the kernel does to a queue whose CPU goes offline, repeatable: the quota is left on. The
/// group counts as one with a quota, so that every visit touches the same lines.
#[inline(always)]
fn offline<L: Layout>(step: Step<'_, L>) -> u64 {
    let cfs = L::tg_cfs_rq(step.tg, step.cpu).plain();
    let enabled = cfs.runtime_enabled().get() as u64;
    cfs.runtime_remaining().set(1);
    enabled.wrapping_add(cfs.throttled().get() as u64).wrapping_add(cfs.tg().get())
}

/// Load tracking's clock of a queue: it stands while the queue is throttled.
#[inline(always)]
pub(crate) fn clock_pelt<C: CfsRqFields>(rq: &Rq<C>, cfs: &C) -> u64 {
    let now = if cfs.throttle_count().get() != 0 {
        cfs.throttled_clock_pelt().get()
    } else {
        C::touched(&rq.clock_pelt).get()
    };
    now.wrapping_sub(cfs.throttled_clock_pelt_time().get())
}

#[inline(always)]
fn update(avg: &SchedAvg, now: u64) -> u64 {
    let sums = avg.load_sum.get().wrapping_add(avg.runnable_sum.get());
    avg.last_update_time.set(now);
    sums.wrapping_add(avg.load_avg.get()).wrapping_add(avg.util_avg.get())
}

/// Load tracking of one queue: clock, removed load, averages, weight and counts.
#[inline(always)]
fn update_queue<C: CfsRqFields>(rq: &Rq<C>, cfs: &C) -> u64 {
    let now = clock_pelt(rq, cfs);
    let removed = if cfs.removed().nr.get() != 0 { cfs.removed().load_avg.get() } else { 0 };
    update(cfs.avg(), now)
        .wrapping_add(removed)
        .wrapping_add(cfs.load().weight.get())
        .wrapping_add(u64::from(cfs.h_nr_runnable().get()))
        .wrapping_add(cfs.curr().get())
}

/// Decay of blocked load: the queue, what it contributes to its group, its entity, the parent.
#[inline(always)]
fn blocked<L: Layout>(step: Step<'_, L>) -> u64 {
    let Step { model, guard, rq, tg, cpu } = step;
    let held = L::tg_cfs_rq(tg, cpu);
    let cfs = held.plain();
    let mut read = update_queue(rq, cfs);
    let changed = cfs.avg().load_avg.get().abs_diff(cfs.tg_load_avg_contrib().get());
    let since = L::touched(&rq.clock).get().wrapping_sub(cfs.last_update_tg_load_avg().get());
    if since > 1_000_000 && changed > cfs.tg_load_avg_contrib().get() / 64 {
        L::touched(&tg.load_avg).0.add(changed);
    }
    if let Some(ent) = L::cfs_rq_se(model.groups(), guard, held, cpu) {
        let se = ent.plain();
        let busy = se.avg().load_avg.get() | se.avg().util_avg.get();
        if busy != 0 || cfs.propagate().get() != 0 {
            let above = se.cfs_rq().get().expect("an entity waits in a queue");
            read = read
                .wrapping_add(update(se.avg(), clock_pelt(rq, above)))
                .wrapping_add(u64::from(se.on_rq().get()))
                .wrapping_add(se.load().weight.get())
                .wrapping_add(se.runnable_weight().get())
                .wrapping_add(update_queue(rq, above))
                .wrapping_add(above.tg_load_avg_contrib().get());
        }
    }
    read
}

/// Throttle of one queue, as Linux 6.14: the clock stands and the queue leaves the leaf list.
#[inline(always)]
pub(crate) fn throttle_down<L: Layout>(step: Step<'_, L>) -> u64 {
    let Step { rq, tg, cpu, .. } = step;
    let cfs = L::tg_cfs_rq(tg, cpu).plain();
    if cfs.throttle_count().get() == 0 {
        cfs.throttled_clock_pelt().set(L::touched(&rq.clock_pelt).get());
        leaf::remove(rq, cfs);
        if cfs.throttled_clock_self().get() == 0 && cfs.nr_queued().get() != 0 {
            cfs.throttled_clock_self().set(L::touched(&rq.clock).get());
        }
    }
    cfs.throttle_count().add(1);
    let group = cfs.tg().get();
    L::visited();
    group
}

/// Unthrottle of one queue, as Linux 6.14.
#[inline(always)]
pub(crate) fn unthrottle_up<L: Layout>(step: Step<'_, L>) -> u64 {
    let Step { model, guard, rq, tg, cpu } = step;
    let cfs = L::tg_cfs_rq(tg, cpu).plain();
    cfs.throttle_count().add(-1);
    if cfs.throttle_count().get() == 0 {
        let now = L::touched(&rq.clock_pelt).get();
        let stood = now.wrapping_sub(cfs.throttled_clock_pelt().get());
        cfs.throttled_clock_pelt_time().add(stood);
        // All sums are read, also where the first would decide.
        let left = cfs.load().weight.get()
            | cfs.avg().load_sum.get()
            | cfs.avg().runnable_sum.get()
            | cfs.tg_load_avg_contrib().get();
        if left != 0 {
            leaf::add(model, guard, rq, tg, cfs, cpu);
        }
        let since = cfs.throttled_clock_self().get();
        if since != 0 {
            cfs.throttled_clock_self().set(0);
            let now = L::touched(&rq.clock).get();
            cfs.throttled_clock_self_time().add(now.wrapping_sub(since));
        }
    }
    let group = cfs.tg().get();
    L::visited();
    group
}

/// One group after the other, each on all CPUs: what its statistics file shows.
#[inline(always)]
fn group_walk<L: Layout>(model: &Model<L>, guard: &Guard) -> Visits {
    let mut visits = Visits::default();
    let step = model.groups().len().div_ceil(SAMPLED_GROUPS);
    for tg in model.groups().iter(guard).skip(1).step_by(step) {
        for cpu in model.cpus() {
            let throttled = L::tg_cfs_rq(tg, cpu).plain().throttled_clock_self_time().get();
            let waited = L::tg_stats(tg, cpu).map_or(0, |stats| L::touched(&stats.wait_sum).get());
            visits.add(throttled.wrapping_add(waited));
            L::visited();
        }
    }
    visits
}

#[cfg(test)]
mod tests;
