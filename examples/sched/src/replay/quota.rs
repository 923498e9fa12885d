//! Bandwidth control of the replay: a group's pool, slices of it for its CPUs, throttling, refill and
//! distribution, unthrottling. The group's entity leaves its queue when it is throttled (as to Linux
//! 6.17), for all structures, so that layouts are compared on the same work.

#![allow(unsafe_code, reason = "a pool's links to throttled queues")]

use super::queue::{On, Tasks};
use crate::layout::{Cfs, Held, Layout, Se};
use crate::link::Link;
use crate::model::{Model, Tg, leaf};
use crate::ops::{Step, throttle_down, unthrottle_up};
use crate::structs::{CfsRqFields, SeFields};
use corelocal::CpuId;
use crossbeam_epoch::Guard;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nanoseconds that a queue keeps when it gives runtime back.
const KEPT: i64 = 1_000_000;

/// A group with a quota. The pool's runtime is the group's word `bandwidth.runtime`, guarded by the
/// lock.
pub(super) struct Pool<L: Layout> {
    pub(super) group: u32,
    state: Mutex<State<L>>,
}

/// What the lock of a pool guards.
pub(super) struct State<L: Layout> {
    /// Throttled queues by CPU, in the order in which they were.
    throttled: Vec<(CpuId, Link<Cfs<L>>)>,
    /// Nanoseconds that CPUs took from the pool since the last refill, less what they gave back.
    pub(super) granted: i64,
    /// The most that they may.
    pub(super) quota: i64,
}

impl<L: Layout> Pool<L> {
    /// A full pool of `quota` nanoseconds.
    fn new(tg: &Tg<L>, group: u32, quota: i64) -> Self {
        tg.bandwidth.runtime.set(quota);
        let state = Mutex::new(State { throttled: Vec::new(), granted: 0, quota });
        Self { group, state }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up to `wanted` nanoseconds.
    fn take(&self, tg: &Tg<L>, wanted: i64) -> i64 {
        let mut state = self.lock();
        let pool = &L::touched(&tg.bandwidth).runtime;
        let given = wanted.min(pool.get()).max(0);
        pool.set(pool.get() - given);
        state.granted += given;
        given
    }

    fn give_back(&self, tg: &Tg<L>, runtime: i64) {
        let mut state = self.lock();
        let pool = &L::touched(&tg.bandwidth).runtime;
        pool.set(pool.get() + runtime);
        state.granted -= runtime;
    }

    /// `account_cfs_rq_runtime`: charges `ran` nanoseconds and asks for a slice if nothing is left.
    /// Whether something is left then.
    pub(super) fn charge(&self, tg: &Tg<L>, queue: &Cfs<L>, ran: i64, slice: i64) -> bool {
        let left = queue.runtime_remaining();
        left.set(left.get() - ran);
        if left.get() <= 0 && queue.throttled().get() == 0 {
            let given = self.take(tg, slice - left.get());
            left.set(left.get() + given);
        }
        left.get() > 0
    }

    /// `return_cfs_rq_runtime`: a queue without tasks keeps a millisecond.
    pub(super) fn return_slack(&self, tg: &Tg<L>, queue: &Cfs<L>) {
        let left = queue.runtime_remaining();
        if left.get() > KEPT && queue.nr_queued().get() == 0 {
            let slack = left.get() - KEPT;
            left.set(KEPT);
            self.give_back(tg, slack);
        }
    }

    /// The period's timer: refills the pool, then gives each throttled queue what it lacks and a
    /// nanosecond (`distribute_cfs_runtime`). Calls `wake` with each CPU that is to unthrottle.
    pub(super) fn refill(&self, model: &Model<L>, tg: &Tg<L>, mut wake: impl FnMut(CpuId)) {
        let mut state = self.lock();
        L::touched(&tg.bandwidth).runtime.set(state.quota);
        state.granted = 0;
        let throttled = std::mem::take(&mut state.throttled);
        drop(state);
        for (cpu, link) in throttled {
            let queue = link.get().expect("a throttled queue");
            let _held = model.lock_rq(cpu);
            // The lists are walked and written; the queue's CPU is where its lock is.
            queue.throttled_list().next.set(0);
            let _ = (queue.rq(), queue.curr());
            if queue.throttled().get() == 0 {
                continue;
            }
            let left = queue.runtime_remaining();
            left.set(left.get() + self.take(tg, 1 - left.get()));
            if left.get() > 0 {
                queue.throttled_csd_list().next.set(1);
                wake(cpu);
            } else {
                self.lock().throttled.push((cpu, link));
            }
        }
    }
}

impl<'g, L: Layout> On<'g, L> {
    fn step(self, tg: &'g Tg<L>) -> Step<'g, L> {
        let Self { model, guard, rq, cpu } = self;
        Step { model, guard, rq, tg, cpu }
    }

    /// `throttle_cfs_rq`: the group's subtree on this CPU stands still, and its entity leaves.
    pub(super) fn throttle(self, pool: &Pool<L>, tg: &Tg<L>, held: L::Cfs<'g>) {
        let queue = held.plain();
        let link = Link::default();
        // SAFETY:
        // * the pool belongs to a replay of this model: no group of it is released, and no object
        //   moves.
        unsafe { link.set(Some(queue)) };
        {
            let mut state = pool.lock();
            L::touched(&tg.bandwidth).nr_throttled.add(1);
            queue.throttled_list().next.set(1);
            state.throttled.push((self.cpu, link));
        }
        let down = |tg| _ = throttle_down(self.step(tg));
        self.model.walk_tg_tree_from(self.guard, pool.group, down, |_| ());
        let less = Tasks::of(queue).less();
        let entity = L::cfs_rq_se(self.model.groups(), self.guard, held, self.cpu);
        self.climb_out(entity.map(Held::plain), less);
        queue.throttled().set(1);
        queue.throttled_clock().set(L::touched(&self.rq.clock).get());
    }

    /// `unthrottle_cfs_rq`, of a queue that was given runtime.
    pub(super) fn unthrottle(
        self,
        pool: &Pool<L>,
        tg: &Tg<L>,
        held: L::Cfs<'g>,
        starved: impl FnMut(u32),
    ) {
        let queue = held.plain();
        let (_, entity) = (
            queue.runtime_enabled().get(),
            L::cfs_rq_se(self.model.groups(), self.guard, held, self.cpu),
        );
        let entity: Option<&Se<L>> = entity.map(Held::plain);
        queue.throttled().set(0);
        queue.throttled_csd_list().next.set(0);
        {
            let _state = pool.lock();
            let since = L::touched(&self.rq.clock).get() - queue.throttled_clock().get();
            L::touched(&tg.bandwidth).throttled_time.add(since);
        }
        let up = |tg| _ = unthrottle_up(self.step(tg));
        self.model.walk_tg_tree_from(self.guard, pool.group, |_| (), up);
        if queue.load().weight.get() == 0 {
            self.complete_branch(queue, entity);
        } else {
            self.climb_in(entity, Tasks::of(queue), starved);
        }
    }

    /// Nothing to run, but something to decay: whatever is above goes on the leaf list.
    fn complete_branch(self, queue: &Cfs<L>, mut at: Option<&Se<L>>) {
        if queue.on_list().get() == 0 {
            return;
        }
        while let Some(se) = at {
            if L::touched(&self.rq.tmp_alone_branch).is(None) {
                return;
            }
            let queue = se.cfs_rq().get().expect("an entity waits in a queue");
            let tg = self.group(queue);
            leaf::add(self.model, self.guard, self.rq, tg, queue, self.cpu);
            at = se.parent().get();
        }
    }
}

/// The groups with a quota, by group.
pub(super) struct Pools<L: Layout>(Vec<Option<Pool<L>>>);

impl<L: Layout> Pools<L> {
    /// No group has one.
    pub(super) fn none(model: &Model<L>) -> Self {
        Self((0..model.groups().len()).map(|_| None).collect())
    }

    /// Each of `groups` has one of `quota` nanoseconds.
    pub(super) fn add(&mut self, model: &Model<L>, guard: &Guard, groups: &[u32], quota: i64) {
        for &group in groups {
            let tg = model.groups().get(group as usize, guard).expect("a group of the tree");
            self.0[group as usize] = Some(Pool::new(tg, group, quota));
        }
    }

    #[inline]
    pub(super) fn of(&self, group: u32) -> Option<&Pool<L>> {
        self.0.get(group as usize)?.as_ref()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pool<L>> {
        self.0.iter().flatten()
    }
}
