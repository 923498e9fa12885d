//! [`Control`]: bandwidth control over one model, and [`Cpu`], one CPU's run queue with its lock held.

use super::list;
use super::task::{Task, TaskId};
use super::{Semantics, Settings};
use crate::layout::{Cfs, Held, Layout, Se};
use crate::model::{Model, RqOf, Tg, leaf};
use crate::rng::Rng;
use crate::structs::{Bandwidth, CfsRqFields, LaterFields, ListHead, SeFields};
use core::fmt;
use core::ops::Deref;
use corelocal::CpuId;
use crossbeam_epoch::{self as epoch, Guard};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bit of the word `throttled` that says that the queue is.
pub(super) const THROTTLED: i32 = 1;
/// The bit that says that load tracking's clock stands (a bit of the same word since 7.2).
pub(super) const PELT_STANDS: i32 = 2;

/// Bandwidth control over the groups of a model. Locks are taken in the order run queue, pool, as in
/// the kernel; no function may be called with another [`Cpu`] held by the same thread.
pub struct Control<'m, L: Layout> {
    pub(super) model: &'m Model<L>,
    pub(super) settings: Settings,
    cpus: Box<[Mutex<State>]>,
    /// The locks of the groups' pools, and what was drawn from them.
    pools: Box<[Mutex<Ledger>]>,
}

/// What a pool gave and got, in nanoseconds, kept beside it by other means.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ledger {
    /// What refills added.
    pub(super) minted: i64,
    /// What queues were given or lost otherwise: a first nanosecond, a quota set anew.
    pub(super) given: i64,
    /// What went from the pool to queues since the last refill, less what came back.
    pub(super) granted: i64,
}

/// An entity: a key that fits the words `curr` and `h_curr`, which are 0 where nothing runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entity {
    Task(TaskId),
    Group(usize),
}

impl Entity {
    pub(super) const fn word(self) -> u64 {
        match self {
            Self::Task(id) => (id as u64) << 1 | 1,
            Self::Group(group) => (group as u64) << 1,
        }
    }
}

/// What a CPU keeps beside the kernel's structures.
#[derive(Debug)]
pub(super) struct State {
    /// The tasks placed on this CPU.
    pub(super) tasks: BTreeMap<TaskId, Task>,
    /// By group: the entities in its queue, running or not.
    pub(super) ready: Vec<Vec<Entity>>,
    /// By group: the running time of its entity by weight, and the least of its queue.
    pub(super) vruntime: Vec<(u64, u64)>,
    /// By group: the limbo list, where the kernel's structure has none.
    limbo: Vec<ListHead>,
    /// By group: what tasks ran below it while its quota was on.
    pub(super) used: Vec<u64>,
    /// By group: how often a task was sent off since the queue was throttled.
    pub(super) sent: Vec<u64>,
    pub(super) running: Option<TaskId>,
    /// Since when the running task is not charged.
    pub(super) exec_start: u64,
    /// Since when it runs.
    pub(super) picked: u64,
    /// Whether another task may have to run.
    pub(super) resched: bool,
    pub(super) online: bool,
    /// Whether another CPU asks this one to look at its CSD list.
    pub(super) interrupted: bool,
}

impl State {
    fn new(groups: usize) -> Self {
        Self {
            tasks: BTreeMap::new(),
            ready: vec![Vec::new(); groups],
            vruntime: vec![(0, 0); groups],
            limbo: (0..groups).map(|_| ListHead::default()).collect(),
            used: vec![0; groups],
            sent: vec![0; groups],
            running: None,
            exec_start: 0,
            picked: 0,
            resched: false,
            online: true,
            interrupted: false,
        }
    }
}

impl<'m, L: Layout> Control<'m, L> {
    /// Takes over a model: its queues are emptied (counters, loads, leaf lists), quotas and periods
    /// stay those of its tree, with no burst, and each group's timer gets a phase of its own.
    pub fn new(model: &'m Model<L>, settings: Settings) -> Self {
        let groups = model.groups().len();
        let mut rng = Rng::new(settings.seed);
        let guard = &epoch::pin();
        for (group, tg) in model.groups().iter(guard).enumerate() {
            let pool = &tg.bandwidth;
            tg.load_avg.0.set(0);
            if group != 0 {
                let now = model.rq(CpuId::new(0)).clock.get();
                // `init_cfs_bandwidth`: the phase is random, so that groups do not refill together.
                let phase = rng.below(period(pool) as usize) as u64;
                pool.period_expires.set(now - now % period(pool) + phase);
            }
        }
        let empty = |cpu: CpuId| {
            let _held = model.lock_rq(cpu);
            for tg in model.groups().iter(guard) {
                clear(model.rq(cpu), L::tg_cfs_rq(tg, cpu).plain());
                if let Some(se) = L::tg_se(tg, cpu) {
                    se.plain().on_rq().set(0);
                }
            }
            Mutex::new(State::new(groups))
        };
        let cpus: Box<[_]> = model.cpus().map(empty).collect();
        let control = Self {
            model,
            settings,
            pools: (0..groups).map(|_| Mutex::new(Ledger::default())).collect(),
            cpus,
        };
        for cpu in model.cpus() {
            let held = control.lock(cpu);
            for group in 1..groups {
                let limited = is_limited(&held.at().tg(group).bandwidth);
                held.at().cfs(group).runtime_enabled().set(i32::from(limited));
                // `init_cfs_rq_runtime` of tests past: the first nanosecond is a present.
                held.at().cfs(group).runtime_remaining().set(1);
                held.at().pool(group).ledger.given += 1;
            }
        }
        for group in 1..groups {
            control.begin(group);
        }
        control
    }

    /// The first refill of a limited group, as when its quota was written.
    fn begin(&self, group: usize) {
        let held = self.lock(CpuId::new(0));
        let mut pool = held.at().pool(group);
        if is_limited(pool.pool) {
            pool.refill(held.at());
            pool.start(held.at());
        }
    }

    /// The model.
    pub fn model(&self) -> &'m Model<L> {
        self.model
    }

    /// Locks a CPU's run queue.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    pub fn lock(&self, cpu: CpuId) -> Cpu<'_, L> {
        let guard = epoch::pin();
        let held = self.model.lock_rq(cpu);
        let state = self.cpus[cpu.index()].lock().unwrap_or_else(PoisonError::into_inner);
        Cpu { control: self, guard, cpu, state, _held: held }
    }
}

/// Empties a queue and takes it off the leaf list.
fn clear<C: CfsRqFields + LaterFields>(rq: &crate::structs::Rq<C>, cfs: &C) {
    leaf::remove(rq, cfs);
    for count in [cfs.nr_queued(), cfs.h_nr_queued(), cfs.h_nr_runnable()] {
        count.set(0);
    }
    for word in [&cfs.load().weight, &cfs.avg().load_sum, cfs.tg_load_avg_contrib(), cfs.curr()] {
        word.set(0);
    }
    cfs.throttled_clock().set(0);
    cfs.throttled_clock_self().set(0);
    cfs.throttled_clock_self_time().set(0);
    cfs.throttled().set(0);
    cfs.throttle_count().set(0);
    if let Some(running) = cfs.h_curr() {
        running.set(0);
    }
}

impl<L: Layout> fmt::Debug for Control<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("model", &self.model)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// One CPU's run queue, locked.
pub struct Cpu<'c, L: Layout> {
    control: &'c Control<'c, L>,
    guard: Guard,
    cpu: CpuId,
    // Dropped before the run queue's own lock.
    state: MutexGuard<'c, State>,
    _held: MutexGuard<'c, ()>,
}

impl<L: Layout> Cpu<'_, L> {
    pub(super) fn at(&self) -> At<'_, L> {
        At::new(self.control, &self.guard, self.cpu)
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Where it is, and what it may change there.
    pub(super) fn parts(&mut self) -> (At<'_, L>, &mut State) {
        (At::new(self.control, &self.guard, self.cpu), &mut self.state)
    }
}

impl<L: Layout> fmt::Debug for Cpu<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpu").field("cpu", &self.cpu).finish_non_exhaustive()
    }
}

/// Where something happens: one CPU of one model, its run queue's lock being held.
pub(super) struct At<'a, L: Layout> {
    pub(super) control: &'a Control<'a, L>,
    pub(super) guard: &'a Guard,
    pub(super) cpu: CpuId,
    pub(super) rq: &'a RqOf<L>,
}

impl<L: Layout> Clone for At<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Layout> Copy for At<'_, L> {}

impl<'a, L: Layout> At<'a, L> {
    fn new(control: &'a Control<'_, L>, guard: &'a Guard, cpu: CpuId) -> Self {
        Self { control, guard, cpu, rq: control.model.rq(cpu) }
    }

    pub(super) fn semantics(self) -> Semantics {
        self.control.settings.semantics
    }

    /// The CPU's clock, in nanoseconds.
    pub(super) fn now(self) -> u64 {
        L::touched(&self.rq.clock).get()
    }

    /// # Panics
    ///
    /// If the group was released: who has tasks or a quota is not.
    pub(super) fn tg(self, group: usize) -> &'a Tg<L> {
        self.control.model.groups().get(group, self.guard).expect("a group in use")
    }

    /// Whether the group was not released.
    pub(super) fn exists(self, group: usize) -> bool {
        self.control.model.groups().get(group, self.guard).is_some()
    }

    pub(super) fn cfs(self, group: usize) -> &'a Cfs<L> {
        L::tg_cfs_rq(self.tg(group), self.cpu).plain()
    }

    /// The group's entity; none for the root.
    pub(super) fn se(self, group: usize) -> Option<&'a Se<L>> {
        L::tg_se(self.tg(group), self.cpu).map(Held::plain)
    }

    /// The parent; none for the root.
    pub(super) fn parent(self, group: usize) -> Option<usize> {
        (group != 0).then(|| L::touched(&self.tg(group).links.parent).get() as usize)
    }

    /// The group and its ancestors, the root included.
    pub(super) fn path(self, group: usize) -> impl Iterator<Item = usize> {
        core::iter::successors(Some(group), move |&at| self.parent(at))
    }

    /// The group's pool, locked.
    pub(super) fn pool(self, group: usize) -> Pool<'a> {
        let ledger = self.control.pools[group].lock().unwrap_or_else(PoisonError::into_inner);
        Pool { pool: L::touched(&self.tg(group).bandwidth), ledger }
    }

    /// The limbo list of the group's queue.
    pub(super) fn limbo<'s>(self, state: &'s State, group: usize) -> &'s ListHead
    where
        'a: 's,
    {
        self.cfs(group).throttled_limbo_list().unwrap_or(&state.limbo[group])
    }

    /// The first task of the group's limbo list.
    pub(super) fn first_in_limbo(self, state: &State, group: usize) -> Option<TaskId> {
        list::first(self.limbo(state, group)).map(|key| (key - 1) as TaskId)
    }

    /// Which entity of the queue runs, in the word that the kernel looks at; 0 if none does.
    pub(super) fn running(self, group: usize) -> u64 {
        let cfs = self.cfs(group);
        match cfs.h_curr() {
            Some(running) if !super::planted!(self, AsksCurr) => running.get(),
            _ => cfs.curr().get(),
        }
    }
}

/// A group's pool with its lock held.
pub(super) struct Pool<'a> {
    pub(super) pool: &'a Bandwidth,
    pub(super) ledger: MutexGuard<'a, Ledger>,
}

impl Deref for Pool<'_> {
    type Target = Bandwidth;

    fn deref(&self) -> &Bandwidth {
        self.pool
    }
}

/// Whether a group has a quota.
pub(super) fn is_limited(pool: &Bandwidth) -> bool {
    pool.quota.get() != u64::MAX
}

/// The period in nanoseconds.
pub(super) fn period(pool: &Bandwidth) -> u64 {
    pool.period.get().saturating_mul(1000).max(1)
}

/// Whether the queue itself is throttled (`cfs_rq_throttled`).
pub(super) fn is_throttled<C: CfsRqFields>(cfs: &C) -> bool {
    cfs.throttled().get() & THROTTLED != 0
}
