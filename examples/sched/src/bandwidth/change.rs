//! What changes while tasks run: a group's quota, the CPUs that are online.

use super::control::{At, Control, Cpu, State, is_limited};
use super::{planted, queue, run, throttle};
use crate::bandwidth::task::{Place, Task, TaskId};
use crate::layout::Layout;
use crate::structs::CfsRqFields;
use core::fmt;
use corelocal::CpuId;

/// The longest period, in microseconds.
const LONGEST: u64 = 1_000_000;

/// A group's limit, in microseconds, as `cpu.max` and `cpu.max.burst` have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    /// Processor time in each period; `None` without a limit.
    pub quota: Option<u64>,
    /// The period.
    pub period: u64,
    /// What may be saved up beyond the quota.
    pub burst: u64,
}

/// Why a quota was refused. Nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuotaError {
    /// The root group has none.
    Root,
    /// There is no such group.
    NoGroup,
    /// The quota or the period is shorter than the least, in microseconds.
    TooShort(u64),
    /// The period is longer than a second.
    TooLong,
    /// More burst than quota.
    Burst,
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the root group has no quota: limit a group below it"),
            Self::NoGroup => f.write_str("there is no such group"),
            Self::TooShort(least) => write!(f, "quota and period are {least} us at least"),
            Self::TooLong => write!(f, "a period is {LONGEST} us at most"),
            Self::Burst => f.write_str("the burst is at most as large as the quota"),
        }
    }
}

impl std::error::Error for QuotaError {}

impl<L: Layout> Control<'_, L> {
    /// Gives a group another limit while its tasks run (`tg_set_cfs_bandwidth`): the pool is
    /// refilled, and each online CPU's queue starts anew, unthrottled, with 1 ns.
    ///
    /// # Errors
    ///
    /// [`QuotaError`].
    pub fn set_quota(&self, group: usize, to: Quota) -> Result<(), QuotaError> {
        if group == 0 {
            return Err(QuotaError::Root);
        }
        if self.model.groups().get(group, &crossbeam_epoch::pin()).is_none() {
            return Err(QuotaError::NoGroup);
        }
        let least = self.settings.least / 1000;
        if to.period < least || to.quota.is_some_and(|quota| quota < least) {
            return Err(QuotaError::TooShort(least));
        }
        if to.period > LONGEST {
            return Err(QuotaError::TooLong);
        }
        if to.quota.is_some_and(|quota| to.burst > quota) {
            return Err(QuotaError::Burst);
        }
        // What ran until now is the old limit's. The kernel does so under each CPU's lock below.
        for cpu in self.model.cpus() {
            let mut held = self.lock(cpu);
            let (at, state) = held.parts();
            run::update(at, state);
        }
        {
            let held = self.lock(CpuId::new(0));
            let at = held.at();
            let mut pool = at.pool(group);
            pool.period.set(to.period);
            pool.quota.set(to.quota.unwrap_or(u64::MAX));
            pool.burst.set(to.burst);
            pool.refill(at);
            if is_limited(&pool) {
                pool.start(at);
            }
        }
        for cpu in self.model.cpus() {
            let mut held = self.lock(cpu);
            let (at, state) = held.parts();
            if !state.online {
                continue;
            }
            at.cfs(group).runtime_enabled().set(i32::from(to.quota.is_some()));
            set_remaining(at, group, 1);
            throttle::unthrottle(at, state, group);
            run::schedule(at, state);
        }
        Ok(())
    }

    /// A CPU goes off (`unthrottle_offline_cfs_rqs`): limits end there and no queue stays
    /// throttled, so that its tasks can leave. The tasks are handed out.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    pub fn offline(&self, cpu: CpuId) -> Vec<(TaskId, Task)> {
        let mut held = self.lock(cpu);
        let (at, state) = held.parts();
        run::update(at, state);
        for tg in self.model.groups().iter(at.guard).skip(1) {
            let group = crate::layout::Held::plain(L::tg_cfs_rq(tg, cpu)).tg().get() as usize;
            let cfs = at.cfs(group);
            if cfs.runtime_enabled().get() == 0 {
                continue;
            }
            cfs.runtime_enabled().set(0);
            if super::control::is_throttled(cfs) && !planted!(at, OfflineStaysThrottled) {
                set_remaining(at, group, 1);
                throttle::unthrottle(at, state, group);
            }
        }
        state.online = false;
        let ids: Vec<TaskId> = state.tasks.keys().copied().collect();
        let tasks = ids.into_iter().map(|id| (id, held.take(id))).collect();
        let (at, state) = held.parts();
        state.resched = true;
        run::schedule(at, state);
        tasks
    }

    /// A CPU comes back (`update_runtime_enabled`): limits count there again.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    pub fn online(&self, cpu: CpuId) {
        let mut held = self.lock(cpu);
        let (at, state) = held.parts();
        state.online = true;
        for tg in self.model.groups().iter(at.guard).skip(1) {
            let group = crate::layout::Held::plain(L::tg_cfs_rq(tg, cpu)).tg().get() as usize;
            let limited = is_limited(&at.pool(group));
            at.cfs(group).runtime_enabled().set(i32::from(limited));
        }
    }
}

/// Sets what a queue has, whatever it had: the difference is a present.
fn set_remaining<L: Layout>(at: At<'_, L>, group: usize, to: i64) {
    let remaining = at.cfs(group).runtime_remaining();
    at.pool(group).ledger.given += to - remaining.get();
    remaining.set(to);
}

impl<L: Layout> Cpu<'_, L> {
    /// Places a task on this CPU. One that is not asleep is queued, or waits in limbo if it was
    /// throttled and its group is throttled here too.
    ///
    /// # Panics
    ///
    /// If this CPU has a task of that number, or there is no such group.
    pub fn place(&mut self, id: TaskId, task: Task) {
        let (at, state) = self.parts();
        at.cfs(task.group);
        let place = task.place;
        let before = state.tasks.insert(id, task);
        assert!(before.is_none(), "task {id} is there already");
        if !matches!(place, Place::Asleep(_)) {
            queue::enqueue(at, state, id);
        }
    }

    /// Takes a task away, out of whatever queue it is in.
    ///
    /// # Panics
    ///
    /// If it is not on this CPU.
    pub fn take(&mut self, id: TaskId) -> Task {
        let (at, state) = self.parts();
        run::update(at, state);
        match state.tasks[&id].place {
            Place::Asleep(_) => {}
            Place::Queued => dequeue(at, state, id),
            Place::Limbo => {
                queue::leave_limbo(at, state, id);
                state.tasks.get_mut(&id).expect("looked up above").place = Place::Limbo;
            }
        }
        let mut task = state.tasks.remove(&id).expect("looked up above");
        task.vruntime = 0;
        task
    }

    /// Lets a sleeping task run.
    ///
    /// # Panics
    ///
    /// If it is not on this CPU.
    pub fn wake(&mut self, id: TaskId) {
        let (at, state) = self.parts();
        if matches!(state.tasks[&id].place, Place::Asleep(_)) {
            run::update(at, state);
            queue::enqueue(at, state, id);
        }
    }

    /// What a task is and where.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.state().tasks.get(&id)
    }

    /// The running task.
    pub fn running(&self) -> Option<TaskId> {
        self.state().running
    }

    /// A tick of this CPU's clock: the running task and all groups above it are charged.
    pub fn tick(&mut self) {
        let (at, state) = self.parts();
        run::tick(at, state);
    }

    /// Chooses the task that runs, if there is a reason to choose anew.
    pub fn schedule(&mut self) {
        let (at, state) = self.parts();
        run::schedule(at, state);
    }

    /// The running task returns to user space, where a throttled one goes.
    pub fn return_to_user(&mut self) {
        let (at, state) = self.parts();
        run::return_to_user(at, state);
    }

    /// Unthrottles the queues that other CPUs gave runtime.
    pub fn unthrottle_given(&mut self) {
        let (at, state) = self.parts();
        super::distribute::unthrottle_given(at, state);
    }

    /// Charges a group's queue for `delta` nanoseconds, without a task.
    pub fn charge(&mut self, group: usize, delta: u64) {
        let (at, state) = self.parts();
        if at.cfs(group).runtime_enabled().get() != 0 {
            state.used[group] += delta;
        }
        throttle::charge(at, state, group, delta);
    }

    /// Throttles a group's queue unless the pool has something for it; returns whether it is.
    pub fn throttle(&mut self, group: usize) -> bool {
        let (at, state) = self.parts();
        let was = super::control::is_throttled(at.cfs(group));
        was || throttle::throttle(at, state, group)
    }

    /// Unthrottles a group's queue.
    pub fn unthrottle(&mut self, group: usize) {
        let (at, state) = self.parts();
        throttle::unthrottle(at, state, group);
    }

    /// Sets the CPU's clocks.
    pub fn set_clock(&mut self, now: u64) {
        let rq = self.at().rq;
        let ran = now.wrapping_sub(rq.clock.get());
        rq.clock.set(now);
        rq.clock_pelt.add(ran);
    }
}

/// Takes a queued task out, running or not.
fn dequeue<L: Layout>(at: At<'_, L>, state: &mut State, id: TaskId) {
    if state.running == Some(id) {
        // Another one first: the task is put back, then taken.
        state.resched = false;
        run::stop(at, state);
    }
    if state.tasks[&id].place == Place::Queued {
        queue::dequeue(at, state, id, false);
    }
    state.resched = true;
}
