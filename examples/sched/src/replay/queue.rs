//! What the kernel does to the queues of a group and of those above it when a task comes and goes
//! and at each tick. The fields are those of [`operations`](crate::structs::operations), in whatever
//! structures; a test compares the lines.

use super::pelt::{self, Counted};
use crate::layout::{Cfs, Layout, Se};
use crate::model::{Model, RqOf, Tg, leaf};
use crate::ops::clock_pelt;
use crate::structs::{CfsRqFields, SeFields, VirtualTime};
use core::ptr;
use corelocal::CpuId;
use crossbeam_epoch::Guard;

/// The weight of an ordinary task, scaled by 1024 as weights in queues are.
pub(super) const NICE_0: u64 = 1024 << 10;
/// The slice of an entity, in nanoseconds.
const SLICE: u64 = 3_000_000;
/// The least time between two reports of a queue's load to its group.
const REPORT: u64 = 1_000_000;

/// Tasks of a queue and of those below it, as its three counters have them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tasks {
    queued: u32,
    runnable: u32,
    idle: u32,
}

impl Tasks {
    pub(super) const ONE: Self = Self { queued: 1, runnable: 1, idle: 0 };

    /// Those of a queue.
    pub(super) fn of<C: CfsRqFields>(queue: &C) -> Self {
        let [queued, runnable, idle] =
            [queue.h_nr_queued(), queue.h_nr_runnable(), queue.h_nr_idle()]
                .map(|count| count.get());
        Self { queued, runnable, idle }
    }

    /// So many fewer.
    pub(super) fn less(self) -> Self {
        let [queued, runnable, idle] =
            [self.queued, self.runnable, self.idle].map(u32::wrapping_neg);
        Self { queued, runnable, idle }
    }

    fn count<C: CfsRqFields>(self, queue: &C) {
        queue.h_nr_queued().add(self.queued);
        queue.h_nr_runnable().add(self.runnable);
        queue.h_nr_idle().add(self.idle);
    }
}

/// What all steps on one CPU need. The holder has the lock of its run queue.
pub(super) struct On<'g, L: Layout> {
    pub(super) model: &'g Model<L>,
    pub(super) guard: &'g Guard,
    pub(super) rq: &'g RqOf<L>,
    pub(super) cpu: CpuId,
}

impl<L: Layout> Clone for On<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Layout> Copy for On<'_, L> {}

impl<'g, L: Layout> On<'g, L> {
    /// The group that a queue belongs to.
    pub(super) fn group(self, queue: &Cfs<L>) -> &'g Tg<L> {
        self.model.groups().get(queue.tg().get() as usize, self.guard).expect("a group stays")
    }

    /// Brings a queue and an entity in it to now (`update_load_avg`); a task's entity is not here.
    pub(super) fn load(self, queue: &Cfs<L>, entity: Option<&Se<L>>, report: bool) {
        if let Some(se) = entity {
            let weight = if se.on_rq().get() != 0 { se.load().weight.get() >> 10 } else { 0 };
            // Which queue it waits in and which it owns say of what kind it is.
            let (_, owns) = (se.cfs_rq().get(), !se.my_q().is(None));
            let running = owns && queue.curr().get() == ptr::from_ref(se).addr() as u64;
            let counted = Counted { load: weight, runnable: se.runnable_weight().get(), running };
            pelt::update(se.avg(), clock_pelt(self.rq, queue), counted);
        }
        self.queue_load(queue);
        if report {
            self.report(queue);
        }
    }

    /// Brings a queue to now (`update_cfs_rq_load_avg`).
    pub(super) fn queue_load(self, queue: &Cfs<L>) {
        let now = clock_pelt(self.rq, queue);
        if queue.removed().nr.get() != 0 {
            queue.removed().nr.set(0);
        }
        // The clock is found through the queue's CPU.
        queue.rq();
        let counted = Counted {
            load: queue.load().weight.get() >> 10,
            runnable: u64::from(queue.h_nr_runnable().get()),
            running: queue.curr().get() != 0,
        };
        pelt::update(queue.avg(), now, counted);
    }

    /// Tells the group what changed, not too often and not too little (`update_tg_load_avg`).
    pub(super) fn report(self, queue: &Cfs<L>) {
        if queue.tg().get() == 0 {
            return;
        }
        let now = L::touched(&self.rq.clock).get();
        let since = now.wrapping_sub(queue.last_update_tg_load_avg().get());
        let (load, told) = (queue.avg().load_avg.get(), queue.tg_load_avg_contrib().get());
        if since >= REPORT && load.abs_diff(told) > told / 64 {
            let tg = self.group(queue);
            L::touched(&tg.load_avg).0.fetch_add(load.wrapping_sub(told));
            queue.tg_load_avg_contrib().set(load);
            queue.last_update_tg_load_avg().set(now);
        }
    }

    /// The group's weight on this CPU: its share by load (`update_cfs_group`).
    pub(super) fn weigh(self, queue: &Cfs<L>, se: &Se<L>) {
        let owned = se.my_q().get().expect("the entity of a group");
        let tg = self.group(owned);
        let shares = L::touched(&tg.shares).get();
        let load = (owned.load().weight.get() >> 10).max(owned.avg().load_avg.get());
        let others = L::touched(&tg.load_avg).0.get();
        let all = others.wrapping_sub(owned.tg_load_avg_contrib().get()).wrapping_add(load);
        let share = shares.saturating_mul(load).checked_div(all).unwrap_or(shares);
        let (weight, old) = (share.clamp(2, shares), se.load().weight.get());
        if weight == old {
            return;
        }
        if se.on_rq().get() != 0 {
            queue.load().weight.add(weight.wrapping_sub(old));
            queue.weights().add((weight >> 10).wrapping_sub(old >> 10));
        }
        se.load().weight.set(weight);
        // The lag keeps its product with the weight.
        let lag = i128::from(se.vlag().get()) * i128::from(old) / i128::from(weight);
        se.vlag().set(lag as i64);
    }

    /// `enqueue_entity`: a group's entity, or a task's, which lies elsewhere.
    pub(super) fn enqueue_entity(self, queue: &Cfs<L>, entity: Option<&Se<L>>) -> Starved {
        let curr = queue.curr().get();
        self.load(queue, entity, true);
        let mut weight = NICE_0;
        if let Some(se) = entity {
            let owned = se.my_q().get().expect("the entity of a group");
            se.runnable_weight().set(u64::from(owned.h_nr_runnable().get()));
            self.weigh(queue, se);
            weight = se.load().weight.get();
        }
        queue.load().weight.add(weight);
        queue.nr_queued().add(1);
        place(queue, entity, weight);
        if queue.nr_queued().get() != 1 {
            return Starved::No;
        }
        let starved = queue.runtime_enabled().get() != 0
            && curr == 0
            && queue.throttled().get() == 0
            && queue.runtime_remaining().get() <= 0;
        if queue.throttle_count().get() == 0 {
            let tg = self.group(queue);
            leaf::add(self.model, self.guard, self.rq, tg, queue, self.cpu);
        } else if queue.throttled_clock_self().get() == 0 {
            queue.throttled_clock_self().set(L::touched(&self.rq.clock).get());
        }
        if starved { Starved::Yes } else { Starved::No }
    }

    /// `dequeue_entity`.
    pub(super) fn dequeue_entity(self, queue: &Cfs<L>, entity: Option<&Se<L>>) {
        queue.curr();
        self.load(queue, entity, true);
        let weight = entity.map_or(NICE_0, |se| se.load().weight.get());
        if let Some(se) = entity {
            let owned = se.my_q().get().expect("the entity of a group");
            se.runnable_weight().set(u64::from(owned.h_nr_runnable().get()));
            displace(queue, se);
        }
        queue.tasks_timeline().leftmost.set(0);
        queue.weights().add((weight >> 10).wrapping_neg());
        queue.load().weight.add(weight.wrapping_neg());
        queue.nr_queued().add(u32::MAX);
        if let Some(se) = entity {
            se.on_rq().set(0);
            self.weigh(queue, se);
        }
        queue.zero().add(1);
    }

    /// A level that stays queued: its counts and averages (the second loop of an enqueue).
    fn settle(self, queue: &Cfs<L>, se: &Se<L>) {
        self.load(queue, Some(se), true);
        let owned = se.my_q().get().expect("the entity of a group");
        se.runnable_weight().set(u64::from(owned.h_nr_runnable().get()));
        self.weigh(queue, se);
        se.slice().set(SLICE);
    }

    /// A task comes into `queue`, whose entity is `entity`. Calls `starved` with each group on the
    /// way that has a quota and nothing left of it.
    pub(super) fn enqueue_task(
        self,
        queue: &Cfs<L>,
        entity: Option<&Se<L>>,
        mut starved: impl FnMut(u32),
    ) {
        if self.enqueue_entity(queue, None) == Starved::Yes {
            starved(queue.tg().get() as u32);
        }
        Tasks::ONE.count(queue);
        if queue.throttled().get() == 0 {
            self.climb_in(entity, Tasks::ONE, starved);
        }
    }

    /// The entities from `at` on are queued as far as they are not; counts go up to the root, or to
    /// a throttled queue.
    pub(super) fn climb_in(
        self,
        mut at: Option<&Se<L>>,
        tasks: Tasks,
        mut starved: impl FnMut(u32),
    ) {
        while let Some(se) = at {
            let queue = se.cfs_rq().get().expect("an entity waits in a queue");
            if se.on_rq().get() != 0 {
                break;
            }
            if self.enqueue_entity(queue, Some(se)) == Starved::Yes {
                starved(queue.tg().get() as u32);
            }
            tasks.count(queue);
            if queue.throttled().get() != 0 {
                return;
            }
            at = se.parent().get();
        }
        self.settle_all(at, tasks);
    }

    fn settle_all(self, mut at: Option<&Se<L>>, tasks: Tasks) {
        while let Some(se) = at {
            let queue = se.cfs_rq().get().expect("an entity waits in a queue");
            self.settle(queue, se);
            tasks.count(queue);
            if queue.throttled().get() != 0 {
                return;
            }
            at = se.parent().get();
        }
    }

    /// A task leaves `queue`.
    pub(super) fn dequeue_task(self, queue: &Cfs<L>, entity: Option<&Se<L>>) {
        self.dequeue_entity(queue, None);
        let less = Tasks::ONE.less();
        less.count(queue);
        if queue.throttled().get() != 0 {
            return;
        }
        match queue.load().weight.get() {
            0 => self.climb_out(entity, less),
            _ => self.settle_all(entity, less),
        }
    }

    /// The entities from `at` on leave their queues until one keeps load; the counts go on to the
    /// root, or to a throttled queue.
    pub(super) fn climb_out(self, mut at: Option<&Se<L>>, less: Tasks) {
        while let Some(se) = at {
            let queue = se.cfs_rq().get().expect("an entity waits in a queue");
            if se.on_rq().get() == 0 {
                return;
            }
            self.dequeue_entity(queue, Some(se));
            less.count(queue);
            if queue.throttled().get() != 0 {
                return;
            }
            at = se.parent().get();
            if queue.load().weight.get() != 0 {
                break;
            }
        }
        self.settle_all(at, less);
    }

    /// One level of a tick: `update_curr`, load tracking, group weight. Returns the group if its
    /// runtime is used up.
    pub(super) fn tick(self, queue: &Cfs<L>, entity: Option<&Se<L>>, ran: u64) {
        queue.curr();
        if let Some(se) = entity {
            let weight = se.load().weight.get().max(1);
            let virtually = ran.saturating_mul(NICE_0) / weight;
            se.exec_start().set(L::touched(&self.rq.clock).get());
            se.sum_exec_runtime().add(ran);
            se.vruntime().add(virtually);
            queue.weighted_sum().add((virtually as i64).wrapping_mul((weight >> 10) as i64));
            if se.vruntime().get() >= se.deadline().get() {
                se.deadline().set(se.vruntime().get() + se.slice().get());
            }
        }
        queue.weights();
        queue.tasks_timeline();
        queue.zero().add(1);
        self.load(queue, entity, true);
        if let Some(se) = entity {
            let owned = se.my_q().get().expect("the entity of a group");
            se.runnable_weight().set(u64::from(owned.h_nr_runnable().get()));
            self.weigh(queue, se);
        }
    }
}

/// Whether a queue is to be throttled at once, because it has a quota and nothing left of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Starved {
    Yes,
    No,
}

/// `place_entity` and the insertion into the tree, whose other entities are not looked at.
fn place<C: CfsRqFields + VirtualTime, S: SeFields>(queue: &C, entity: Option<&S>, weight: u64) {
    let now = queue.zero().get();
    queue.weights().add(weight >> 10);
    let mut address = 0;
    if let Some(se) = entity {
        let at = now.wrapping_sub(se.vlag().get() as u64);
        se.slice().set(SLICE);
        se.vruntime().set(at);
        se.deadline().set(at + se.slice().get());
        se.exec_start().set(now);
        address = ptr::from_ref(se).addr() as u64;
        se.run_node().parent_color.set(queue.tasks_timeline().node.get());
        se.min_vruntime().set(at);
        se.min_slice().set(SLICE);
        se.on_rq().set(1);
        let part = at.wrapping_sub(now) as i64;
        queue.weighted_sum().add(part.wrapping_mul((weight >> 10) as i64));
    }
    queue.weighted_sum();
    queue.tasks_timeline().node.set(address);
}

/// What an entity takes along when it leaves, and its place in the tree.
fn displace<C: CfsRqFields + VirtualTime, S: SeFields>(queue: &C, se: &S) {
    let lag = queue.zero().get().wrapping_sub(se.vruntime().get()) as i64;
    let limit = SLICE as i64;
    se.vlag().set(lag.clamp(-limit, limit));
    queue.weighted_sum().add(1);
    se.run_node().parent_color.set(0);
    se.deadline().set(se.deadline().get().wrapping_sub(se.vruntime().get()));
    se.min_vruntime().set(0);
    se.min_slice().set(0);
}
