//! [`Machine`]: virtual time. One thread steps from event to event, so a run depends on nothing but
//! its input.

use super::change::{Quota, QuotaError};
use super::check::check;
use super::control::Control;
use super::task::{Behaviour, Place, Task, TaskId};
use super::{Settings, run};
use crate::layout::{Held, Layout};
use crate::model::Model;
use crate::structs::CfsRqFields;
use corelocal::CpuId;
use crossbeam_epoch as epoch;

/// A machine in virtual time.
#[derive(Debug)]
pub struct Machine<'m, L: Layout> {
    control: Control<'m, L>,
    began: u64,
    now: u64,
    ticks: Vec<u64>,
    next_task: TaskId,
    groups: usize,
    /// How often invariants were checked.
    checks: u64,
}

/// What a group got, as `cpu.stat` says it, and its throttled time as the sum over the CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stat {
    /// Nanoseconds that tasks of the group and below it ran.
    pub usage: u64,
    /// Periods that ended while the group was active.
    pub nr_periods: u64,
    /// Periods in which a queue was throttled.
    pub nr_throttled: u64,
    /// Nanoseconds that its queues were throttled.
    pub throttled_time: u64,
    /// Nanoseconds that its queues stood still because of itself or an ancestor.
    pub throttled_self_time: u64,
    /// Periods that used what was saved up.
    pub nr_bursts: u64,
    /// Nanoseconds used beyond the quota.
    pub burst_time: u64,
}

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Period(usize),
    Slack(usize),
    Wake(CpuId, TaskId),
    Sleep(CpuId),
    Return(CpuId),
    Tick(CpuId),
}

impl<'m, L: Layout> Machine<'m, L> {
    /// A machine with the model's groups, quotas and CPUs, and no task.
    pub fn new(model: &'m Model<L>, settings: Settings) -> Self {
        let now = model.rq(CpuId::new(0)).clock.get();
        let tick = settings.tick;
        let count = model.cpus().count() as u64;
        // Ticks are spread over the CPUs.
        let ticks = (0..count).map(|cpu| now + tick * (cpu + 1) / count).collect();
        let groups = model.groups().len();
        let control = Control::new(model, settings);
        Self { control, began: now, now, ticks, next_task: 0, groups, checks: 0 }
    }

    /// Nanoseconds since the machine began.
    pub fn now(&self) -> u64 {
        self.now - self.began
    }

    /// What it runs.
    pub fn control(&self) -> &Control<'m, L> {
        &self.control
    }

    /// How often the invariants were checked.
    pub fn checks(&self) -> u64 {
        self.checks
    }

    /// A new task on `cpu`, runnable after `delay`. Returns its number.
    ///
    /// # Panics
    ///
    /// If there is no such group or CPU, or the CPU is off.
    pub fn spawn(&mut self, cpu: CpuId, group: usize, behaviour: Behaviour, delay: u64) -> TaskId {
        self.spawn_task(cpu, Task::new(group, behaviour, self.now + delay))
    }

    /// The same for a kernel thread.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_kernel_thread(
        &mut self,
        cpu: CpuId,
        group: usize,
        behaviour: Behaviour,
        delay: u64,
    ) -> TaskId {
        let task = Task::new(group, behaviour, self.now + delay);
        self.spawn_task(cpu, Task { kernel_thread: true, ..task })
    }

    fn spawn_task(&mut self, cpu: CpuId, task: Task) -> TaskId {
        let id = self.next_task;
        self.next_task += 1;
        let mut held = self.control.lock(cpu);
        assert!(held.state().online, "CPU {} is off", cpu.get());
        held.place(id, task);
        id
    }

    /// Steps on for `duration` nanoseconds.
    ///
    /// # Errors
    ///
    /// In debug builds: what [`check`] says after a period.
    pub fn run(&mut self, duration: u64) -> Result<(), String> {
        let until = self.now + duration;
        while let Some((time, event)) = self.next().filter(|&(time, _)| time <= until) {
            self.set_clocks(time);
            self.step(event);
            self.settle();
            if cfg!(debug_assertions) && matches!(event, Event::Period(_)) {
                self.checks += 1;
                check(&self.control).map_err(|what| format!("at {} ns: {what}", self.now()))?;
            }
        }
        self.set_clocks(until);
        Ok(())
    }

    /// The earliest event; of those at one time the first by kind, then by number.
    fn next(&self) -> Option<(u64, Event)> {
        let guard = &epoch::pin();
        let mut next: Option<(u64, Event)> = None;
        let mut offer = |time: u64, event: Event| {
            if next.is_none_or(|least| (time, event) < least) {
                next = Some((time, event));
            }
        };
        for group in 1..self.groups {
            let Some(tg) = self.control.model().groups().get(group, guard) else { continue };
            let pool = &tg.bandwidth;
            if pool.period_active.get() != 0 {
                offer(pool.period_expires.get(), Event::Period(group));
            }
            if pool.slack_started.get() != 0 {
                offer(pool.slack_expires.get(), Event::Slack(group));
            }
        }
        for cpu in self.control.model().cpus() {
            let held = self.control.lock(cpu);
            let state = held.state();
            if !state.online {
                continue;
            }
            offer(self.ticks[cpu.index()], Event::Tick(cpu));
            for (&id, task) in &state.tasks {
                if let Place::Asleep(until) = task.place {
                    offer(until.max(self.now), Event::Wake(cpu, id));
                }
            }
            if let Some(task) = state.running.and_then(|id| state.tasks.get(&id)) {
                offer(state.exec_start.saturating_add(task.left), Event::Sleep(cpu));
                if let Some(time) = task.returns {
                    offer(time, Event::Return(cpu));
                }
            }
        }
        next
    }

    fn set_clocks(&mut self, now: u64) {
        self.now = now;
        for cpu in self.control.model().cpus() {
            self.control.lock(cpu).set_clock(now);
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Period(group) => {
                self.control.period(group, self.timer_cpu(group));
            }
            Event::Slack(group) => self.control.slack(group, self.timer_cpu(group)),
            Event::Wake(cpu, id) => self.control.lock(cpu).wake(id),
            Event::Sleep(cpu) => {
                let mut held = self.control.lock(cpu);
                let (at, state) = held.parts();
                run::sleep(at, state);
            }
            Event::Return(cpu) => self.control.lock(cpu).return_to_user(),
            Event::Tick(cpu) => {
                self.ticks[cpu.index()] += self.control.settings.tick;
                self.control.lock(cpu).tick();
            }
        }
    }

    /// The CPU whose timers a group's are: online, and not the same for all groups.
    fn timer_cpu(&self, group: usize) -> CpuId {
        let on = |cpu: &CpuId| self.control.lock(*cpu).state().online;
        let online: Vec<CpuId> = self.control.model().cpus().filter(on).collect();
        online[group % online.len()]
    }

    /// Interrupts between CPUs arrive, and each CPU chooses what to run, until nothing changes.
    fn settle(&mut self) {
        loop {
            let mut changed = false;
            for cpu in self.control.model().cpus() {
                let mut held = self.control.lock(cpu);
                if held.state().interrupted {
                    held.unthrottle_given();
                    changed = true;
                }
                changed |= held.state().resched;
                held.schedule();
            }
            if !changed {
                return;
            }
        }
    }

    /// See [`Control::set_quota`].
    ///
    /// # Errors
    ///
    /// [`QuotaError`].
    pub fn set_quota(&mut self, group: usize, quota: Quota) -> Result<(), QuotaError> {
        self.control.set_quota(group, quota)?;
        self.settle();
        Ok(())
    }

    /// A CPU goes off; its tasks go to the next one that is on. The last one stays on.
    pub fn offline(&mut self, cpu: CpuId) {
        let on = |other: &CpuId| self.control.lock(*other).state().online;
        let count = self.control.model().cpus().count() as u32;
        let after = (1..count).map(|step| CpuId::new((cpu.get() + step) % count));
        let Some(to) = after.into_iter().find(on) else { return };
        if !on(&cpu) {
            return;
        }
        for (id, task) in self.control.offline(cpu) {
            self.control.lock(to).place(id, task);
        }
        self.settle();
    }

    /// A CPU comes back, without tasks.
    pub fn online(&mut self, cpu: CpuId) {
        if !self.control.lock(cpu).state().online {
            self.control.online(cpu);
            let tick = self.control.settings.tick;
            let missed = self.now.saturating_sub(self.ticks[cpu.index()]) / tick + 1;
            self.ticks[cpu.index()] += missed * tick;
        }
    }

    /// What a group got so far.
    ///
    /// # Panics
    ///
    /// If there is no such group.
    pub fn stat(&self, group: usize) -> Stat {
        let mut stat = Stat::default();
        for cpu in self.control.model().cpus() {
            let mut held = self.control.lock(cpu);
            let (at, state) = held.parts();
            run::update(at, state);
            let below = |task: &&Task| at.path(task.group).any(|above| above == group);
            stat.usage += state.tasks.values().filter(below).map(|task| task.ran).sum::<u64>();
            let cfs = L::tg_cfs_rq(at.tg(group), cpu).plain();
            let since = |began: u64| if began == 0 { 0 } else { at.now() - began };
            stat.throttled_self_time += cfs.throttled_clock_self_time().get();
            stat.throttled_self_time += since(cfs.throttled_clock_self().get());
            stat.throttled_time += since(cfs.throttled_clock().get());
        }
        let held = self.control.lock(CpuId::new(0));
        let pool = held.at().pool(group);
        stat.nr_periods = pool.nr_periods.get();
        stat.nr_throttled = pool.nr_throttled.get();
        stat.throttled_time += pool.throttled_time.get();
        stat.nr_bursts = pool.nr_burst.get();
        stat.burst_time = pool.burst_time.get();
        stat
    }
}
