//! [`Player`]: one CPU's part of the phases, step by step.

use super::phase::Phase;
use super::queue::{NICE_0, On};
use super::quota::Pools;
use super::scenario::Scenario;
use crate::layout::{Held, Layout, Se};
use crate::model::{Model, Tg, leaf};
use crate::structs::{CfsRqFields, SchedAvg, SeFields};
use corelocal::CpuId;
use crossbeam_epoch::{self as epoch, Guard};
use std::sync::{Mutex, PoisonError};

/// What all CPUs of a replay share.
pub(super) struct Stage<'m, L: Layout> {
    pub(super) model: &'m Model<L>,
    pub(super) pools: Pools<L>,
    /// Of each CPU of the model the groups that it is to unthrottle.
    woken: Vec<Mutex<Vec<u32>>>,
    slice: i64,
    tick: u64,
    ticks: u64,
    sampled: usize,
}

impl<'m, L: Layout> Stage<'m, L> {
    /// A stage on which nothing has happened: no queue has load, or is on a leaf list.
    pub(super) fn new(model: &'m Model<L>, scenario: &Scenario) -> Self {
        let guard = &epoch::pin();
        model.cpus().for_each(|cpu| clear(model, guard, cpu));
        for index in 0..model.groups().len() {
            let tg = model.groups().get(index, guard).expect("a group stays");
            tg.load_avg.0.set(0);
            tg.shares.set(NICE_0);
        }
        let rules = &scenario.rules;
        let mut pools = Pools::none(model);
        for (groups, quota) in &scenario.quotas {
            pools.add(model, guard, groups, *quota);
            for cpu in model.cpus() {
                for &group in groups {
                    let tg = model.groups().get(group as usize, guard).expect("a group stays");
                    L::tg_cfs_rq(tg, cpu).plain().runtime_enabled().set(1);
                }
            }
        }
        Self {
            model,
            pools,
            woken: model.cpus().map(|_| Mutex::new(Vec::new())).collect(),
            slice: rules.slice as i64 * 1000,
            tick: rules.tick * 1000,
            ticks: (scenario.period() / rules.tick / u64::from(rules.balances)).max(1),
            sampled: rules.sampled,
        }
    }

    fn woken(&self, cpu: CpuId) -> std::sync::MutexGuard<'_, Vec<u32>> {
        self.woken[cpu.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes all load from a CPU's queues, whatever they were built with or an earlier replay left.
fn clear<L: Layout>(model: &Model<L>, guard: &Guard, cpu: CpuId) {
    let _held = model.lock_rq(cpu);
    let rq = model.rq(cpu);
    rq.clock.set(1 << 30);
    rq.clock_pelt.set(1 << 29);
    for index in 0..model.groups().len() {
        let tg = model.groups().get(index, guard).expect("a group stays");
        let queue = L::tg_cfs_rq(tg, cpu).plain();
        leaf::remove(rq, queue);
        clear_queue(queue);
        if let Some(se) = L::tg_se(tg, cpu).map(Held::plain) {
            clear_avg(se.avg());
            se.on_rq().set(0);
            se.load().weight.set(NICE_0);
            se.vlag().set(0);
            let words = [se.runnable_weight(), se.vruntime(), se.deadline(), se.sum_exec_runtime()];
            words.into_iter().for_each(|word| word.set(0));
        }
    }
}

fn clear_avg(avg: &SchedAvg) {
    let words = [&avg.load_sum, &avg.load_avg, &avg.runnable_sum, &avg.runnable_avg, &avg.util_avg];
    words.into_iter().for_each(|word| word.set(0));
    avg.util_sum.set(0);
    avg.last_update_time.set(0);
}

fn clear_queue<C: CfsRqFields>(queue: &C) {
    clear_avg(queue.avg());
    let counts = [queue.nr_queued(), queue.h_nr_queued(), queue.h_nr_runnable(), queue.h_nr_idle()];
    counts.into_iter().for_each(|count| count.set(0));
    let switches = [queue.throttled(), queue.throttle_count(), queue.runtime_enabled()];
    switches.into_iter().for_each(|switch| switch.set(0));
    queue.runtime_remaining().set(0);
    queue.weighted_sum().set(0);
    queue.propagate().set(0);
    for word in [
        &queue.load().weight,
        queue.curr(),
        queue.weights(),
        queue.zero(),
        queue.tg_load_avg_contrib(),
        queue.last_update_tg_load_avg(),
        queue.h_load(),
        queue.last_h_load_update(),
        queue.throttled_clock(),
        queue.throttled_clock_pelt(),
        queue.throttled_clock_pelt_time(),
        queue.throttled_clock_self(),
        queue.throttled_clock_self_time(),
    ] {
        word.set(0);
    }
}

/// One CPU, and what it knows without asking: its tasks know their queues, as the kernel's do.
pub(super) struct Player<'g, L: Layout> {
    on: On<'g, L>,
    groups: Vec<&'g Tg<L>>,
    held: Vec<L::Cfs<'g>>,
    entities: Vec<Option<&'g Se<L>>>,
    parents: Vec<u32>,
    /// The leaves that have a task here.
    tasks: Vec<u32>,
    /// Groups whose runtime is used up and that are not throttled yet.
    starved: Vec<u32>,
    /// By group: throttled, or about to be.
    stopped: Vec<bool>,
    /// Whose turn it is.
    turn: usize,
    sample: usize,
    /// The timers that this CPU sees to.
    timers: Vec<u32>,
    pub(super) shares: Option<u32>,
    pub(super) goes_offline: bool,
}

impl<'g, L: Layout> Player<'g, L> {
    pub(super) fn new(
        stage: &Stage<'g, L>,
        guard: &'g Guard,
        scenario: &Scenario,
        place: usize,
    ) -> Self {
        let model = stage.model;
        let cpu = CpuId::new(scenario.cpus[place]);
        let groups: Vec<&Tg<L>> = model.groups().iter(guard).collect();
        let pools = stage.pools.iter().map(|pool| pool.group);
        Self {
            on: On { model, guard, rq: model.rq(cpu), cpu },
            held: groups.iter().map(|tg| L::tg_cfs_rq(tg, cpu)).collect(),
            entities: groups.iter().map(|tg| L::tg_se(tg, cpu).map(Held::plain)).collect(),
            parents: groups.iter().map(|tg| tg.links.parent.get()).collect(),
            groups,
            tasks: scenario.tasks[place].clone(),
            starved: Vec::new(),
            stopped: vec![false; model.groups().len()],
            turn: 0,
            sample: 0,
            // Each timer was started by some CPU.
            timers: pools.skip(place).step_by(scenario.cpus.len()).collect(),
            shares: None,
            goes_offline: false,
        }
    }

    pub(super) fn cpu(&self) -> CpuId {
        self.on.cpu
    }

    pub(super) fn tasks(&self) -> &[u32] {
        &self.tasks
    }

    /// A period begins with these tasks; those of `came` are new here, and ask their groups where
    /// their queues are (`set_task_rq`).
    pub(super) fn begin(&mut self, tasks: &[u32], came: impl Iterator<Item = u32>) {
        self.tasks.clear();
        self.tasks.extend_from_slice(tasks);
        for leaf in came {
            let (tg, cpu) = (self.groups[leaf as usize], self.on.cpu);
            let _ = (L::tg_cfs_rq(tg, cpu), L::tg_se(tg, cpu));
        }
    }

    /// The `at`-th step of a phase: how many units it was, or none if the phase is over here.
    pub(super) fn step(&mut self, stage: &Stage<'g, L>, phase: Phase, at: usize) -> Option<u64> {
        match phase {
            Phase::Wake => self.wake(stage, *self.tasks.get(at)?),
            Phase::Tick => {
                if at as u64 == stage.ticks {
                    return None;
                }
                return Some(self.tick(stage));
            }
            Phase::Throttle => {
                let group = *self.starved.get(at)?;
                let _held = self.on.model.lock_rq(self.on.cpu);
                let pool = stage.pools.of(group).expect("it has a quota");
                self.on.throttle(pool, self.groups[group as usize], self.held[group as usize]);
                if at + 1 == self.starved.len() {
                    self.starved.clear();
                }
            }
            Phase::Balance => {
                if at > 0 {
                    return None;
                }
                let _held = self.on.model.lock_rq(self.on.cpu);
                return Some(self.on.decay(|group| self.held[group as usize]));
            }
            Phase::HLoad => {
                if at == stage.sampled || self.tasks.is_empty() {
                    return None;
                }
                self.h_load(stage);
            }
            Phase::Refill => {
                let pool = stage.pools.of(*self.timers.get(at)?).expect("it has a timer");
                let tg = self.groups[pool.group as usize];
                pool.refill(stage.model, tg, |cpu| stage.woken(cpu).push(pool.group));
            }
            Phase::Unthrottle => self.unthrottle(stage)?,
            Phase::Sleep => self.sleep(stage, *self.tasks.get(at)?),
            Phase::Shares => {
                let (On { model, guard, .. }, group) = (self.on, self.shares?);
                let cpu = model.cpus().nth(at)?;
                let _held = model.lock_rq(cpu);
                let on = On { model, guard, rq: model.rq(cpu), cpu };
                let tg = self.groups[group as usize];
                if at == 0 {
                    let old = L::touched(&tg.shares).get();
                    tg.shares.set(if old == NICE_0 { NICE_0 * 2 } else { NICE_0 });
                }
                on.set_shares(tg);
            }
            Phase::Offline => {
                self.on.offline(self.groups.get(at).filter(|_| self.goes_offline)?);
            }
        }
        Some(1)
    }

    fn wake(&mut self, stage: &Stage<'g, L>, leaf: u32) {
        let _held = self.on.model.lock_rq(self.on.cpu);
        let queue = self.held[leaf as usize].plain();
        let (on, entity) = (self.on, self.entities[leaf as usize]);
        on.enqueue_task(queue, entity, |group| self.charge(stage, group, 0));
    }

    /// Charges a group's queue here and asks for a slice if nothing is left; if there is none, the
    /// group is to be throttled.
    fn charge(&mut self, stage: &Stage<'g, L>, group: u32, ran: u64) {
        let (tg, queue) = (self.groups[group as usize], self.held[group as usize].plain());
        let pool = stage.pools.of(group).expect("it has a quota");
        let left = pool.charge(tg, queue, ran as i64, stage.slice);
        if !left && !std::mem::replace(&mut self.stopped[group as usize], true) {
            self.starved.push(group);
        }
    }

    fn sleep(&mut self, stage: &Stage<'g, L>, leaf: u32) {
        let _held = self.on.model.lock_rq(self.on.cpu);
        let queue = self.held[leaf as usize].plain();
        self.on.dequeue_task(queue, self.entities[leaf as usize]);
        if let Some(pool) = stage.pools.of(leaf) {
            pool.return_slack(self.groups[leaf as usize], queue);
        }
    }

    /// Whether a leaf's task may run: neither the leaf nor a group above is stopped.
    fn may_run(&self, leaf: u32) -> bool {
        let mut at = leaf;
        while let Some(&stopped) = self.stopped.get(at as usize) {
            if stopped {
                return false;
            }
            at = self.parents[at as usize];
        }
        true
    }

    /// A tick of the next task that may run; 0 if there is none.
    fn tick(&mut self, stage: &Stage<'g, L>) -> u64 {
        let rq = self.on.rq;
        rq.clock.add(stage.tick);
        rq.clock_pelt.add(stage.tick);
        let count = self.tasks.len();
        let next = (0..count).map(|step| (self.turn + step) % count);
        let Some(at) = next.into_iter().find(|&at| self.may_run(self.tasks[at])) else { return 0 };
        self.turn = (at + 1) % count;
        let _held = self.on.model.lock_rq(self.on.cpu);
        let (mut group, mut entity) = (self.tasks[at], None);
        loop {
            let queue = self.held[group as usize].plain();
            self.on.tick(queue, entity, stage.tick);
            if queue.runtime_enabled().get() != 0 {
                self.charge(stage, group, stage.tick);
            }
            entity = self.entities[group as usize];
            match self.parents[group as usize] {
                above if (above as usize) < self.held.len() => group = above,
                _ => return 1,
            }
        }
    }

    fn h_load(&mut self, stage: &Stage<'g, L>) {
        let leaf = self.tasks[self.sample % self.tasks.len()];
        // A stride without a factor in common with most numbers.
        self.sample = (self.sample + 7919) % (1 << 30);
        let jiffy = self.on.rq.clock.get() / stage.tick;
        let queue = self.held[leaf as usize].plain();
        let _held = self.on.model.lock_rq(self.on.cpu);
        self.on.h_load(queue, self.entities[leaf as usize], jiffy);
    }

    fn unthrottle(&mut self, stage: &Stage<'g, L>) -> Option<()> {
        let group = stage.woken(self.on.cpu).pop()?;
        let _held = self.on.model.lock_rq(self.on.cpu);
        self.stopped[group as usize] = false;
        let pool = stage.pools.of(group).expect("it has a quota");
        let (on, held, tg) = (self.on, self.held[group as usize], self.groups[group as usize]);
        on.unthrottle(pool, tg, held, |group| self.charge(stage, group, 0));
        Some(())
    }
}
