//! From a recording's events to what the simulator's reader of traces takes: numbers for tasks and
//! CPUs, and nothing that contradicts itself.
//!
//! Four things are made good here, all told in the output:
//!
//! * Perf writes `sched_waking` and no `sched_wakeup`. Then the former is the wake-up; a move that
//!   the same CPU tells right after it belongs to it (the waker chose another CPU).
//! * A waker can begin while the task is still on its way into sleep, so that its line stands before
//!   the switch. Such a wake-up is put right after the sleep, once the task is seen running without
//!   another.
//! * Who runs when the recording begins is known from each CPU's first switch.
//! * Where lines are missing, the switch that does show a task is believed.
//!
//! Tasks of real-time priority are not the fair class's: they are left out, their time is nobody's.

use super::line::{Wake, What, Who};
use super::text::{Recording, Told};
use crate::pick::entity::{NICE_0, nice_weight};
use crate::pick::sim::recorded::Seen;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A task of the fair class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Its number in the system.
    pub pid: u32,
    /// The last name that it had.
    pub comm: String,
    /// Its weight.
    pub weight: u64,
}

/// What had to be made good.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Repairs {
    /// Tasks that ran after a sleep though nobody was seen waking them: they woke at that moment.
    pub unseen_wakeups: usize,
    /// Switches from a task that was not known to run there, or to one that ran elsewhere.
    pub mismatches: usize,
    /// Tasks of real-time priority, left out.
    pub real_time: usize,
    /// Nanoseconds that they ran.
    pub real_time_ns: u64,
}

/// A recorded schedule.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Schedule {
    /// The tasks, by number.
    pub tasks: Vec<Task>,
    /// CPUs that are in the recording.
    pub cpus: usize,
    /// What was seen, in the order of time, which begins at 0.
    pub seen: Vec<(u64, Seen)>,
    /// Nanoseconds from the first event to the last.
    pub span: u64,
    /// Whether `sched_waking` stands for `sched_wakeup`.
    pub by_waking: bool,
    /// What was made good.
    pub repairs: Repairs,
}

impl Schedule {
    /// Makes one of a recording. O(n log n).
    pub fn of(recording: &Recording) -> Self {
        let numbering = Numbering::of(&recording.told);
        let by_waking = !recording
            .told
            .iter()
            .any(|told| matches!(told.what, What::Wake { how: Wake::Done, .. }));
        let mut books = Books::new(&numbering, by_waking);
        for (at, told) in recording.told.iter().enumerate() {
            books.take(at, told);
        }
        let (start, end) = numbering.span;
        books.repairs.real_time = numbering.tasks.iter().filter(|task| task.fair.is_none()).count();
        books.out.sort_by_key(|&(time, order, _)| (time, order));
        Self {
            tasks: numbering.fair_tasks(),
            cpus: numbering.cpus.len(),
            seen: books.out.iter().map(|&(time, _, seen)| (time - start, seen)).collect(),
            span: end - start,
            by_waking,
            repairs: books.repairs,
        }
    }
}

#[derive(Debug)]
struct Known<'a> {
    pid: u32,
    comm: &'a str,
    /// Its number among the fair tasks, and its priority; none of a task of real-time priority.
    fair: Option<(u32, i32)>,
    /// The event in which it is first switched from or to.
    switched: Option<usize>,
}

/// Which tasks there are. A pid that ended and appears again is another task.
#[derive(Debug)]
struct Numbering<'a> {
    tasks: Vec<Known<'a>>,
    /// The tasks of each event: one, or two of a switch; none is idle.
    of: Vec<[Option<usize>; 2]>,
    cpus: BTreeMap<u32, usize>,
    span: (u64, u64),
}

impl<'a> Numbering<'a> {
    fn of(told: &'a [Told]) -> Self {
        let mut by_pid = BTreeMap::new();
        let mut cpus = BTreeSet::new();
        let span = (told.first().map_or(0, |t| t.time), told.last().map_or(0, |t| t.time));
        let mut all = Self { tasks: Vec::new(), of: Vec::new(), cpus: BTreeMap::new(), span };
        for (at, told) in told.iter().enumerate() {
            cpus.insert(told.cpu);
            let tasks = match &told.what {
                What::Switch { prev, ends, next, .. } => {
                    let tasks = [all.known(prev, &mut by_pid), all.known(next, &mut by_pid)];
                    for task in tasks.into_iter().flatten() {
                        all.tasks[task].switched.get_or_insert(at);
                    }
                    if *ends {
                        by_pid.remove(&prev.pid);
                    }
                    tasks
                }
                What::Wake { who, cpu, .. } | What::Migrate { who, cpu } => {
                    cpus.insert(*cpu);
                    [all.known(who, &mut by_pid), None]
                }
            };
            all.of.push(tasks);
        }
        all.cpus = cpus.into_iter().zip(0..).collect();
        let fair = all.tasks.iter_mut().filter_map(|task| task.fair.as_mut());
        fair.zip(0..).for_each(|(fair, number)| fair.0 = number);
        all
    }

    fn known(&mut self, who: &'a Who, by_pid: &mut BTreeMap<u32, usize>) -> Option<usize> {
        if who.pid == 0 {
            return None;
        }
        let at = *by_pid.entry(who.pid).or_insert_with(|| {
            self.tasks.push(Known { pid: who.pid, comm: "", fair: None, switched: None });
            self.tasks.len() - 1
        });
        let task = &mut self.tasks[at];
        task.comm = &who.comm;
        // A task of the fair class can be lent a real-time priority for a while.
        if who.prio >= 100 {
            task.fair.get_or_insert((0, who.prio));
        }
        Some(at)
    }

    fn fair_tasks(&self) -> Vec<Task> {
        let fair = self.tasks.iter().filter_map(|task| {
            let (_, prio) = task.fair?;
            let weight = if prio == 120 { NICE_0 } else { nice_weight(prio - 120) };
            Some(Task { pid: task.pid, comm: task.comm.to_owned(), weight })
        });
        fair.collect()
    }
}

#[derive(Clone, Copy, Default, Debug)]
enum State {
    /// Not seen yet.
    #[default]
    Unknown,
    Awake,
    Asleep {
        /// When and in which place it fell asleep.
        since: (u64, usize),
        /// Where a waker began to put it while it still ran.
        begun: Option<usize>,
    },
}

/// What is known while the events pass.
struct Books<'a> {
    numbering: &'a Numbering<'a>,
    by_waking: bool,
    states: Vec<State>,
    /// CPUs on which a waker began while the task ran.
    begun: Vec<Option<usize>>,
    on: Vec<Option<usize>>,
    running: Vec<Option<u32>>,
    /// Since when each CPU runs a task of real-time priority.
    real_time: Vec<Option<u64>>,
    /// The wake-up that a CPU told in its last event: the task and its place in `out`.
    just_woken: Vec<Option<(u32, usize)>>,
    /// With two places for each event: itself, and a wake-up right after it.
    out: Vec<(u64, usize, Seen)>,
    repairs: Repairs,
}

impl<'a> Books<'a> {
    fn new(numbering: &'a Numbering<'a>, by_waking: bool) -> Self {
        let (tasks, cpus) = (numbering.tasks.len(), numbering.cpus.len());
        Self {
            numbering,
            by_waking,
            states: vec![State::Unknown; tasks],
            begun: vec![None; tasks],
            on: vec![None; tasks],
            running: vec![None; cpus],
            real_time: vec![None; cpus],
            just_woken: vec![None; cpus],
            out: Vec::new(),
            repairs: Repairs::default(),
        }
    }

    fn fair(&self, task: Option<usize>) -> Option<u32> {
        Some(self.numbering.tasks[task?].fair?.0)
    }

    fn cpu(&self, cpu: u32) -> usize {
        self.numbering.cpus[&cpu]
    }

    fn take(&mut self, at: usize, told: &Told) {
        let (teller, place) = (self.cpu(told.cpu), (told.time, 2 * at + 2));
        let just_woken = self.just_woken[teller].take();
        let [task, next] = self.numbering.of[at];
        match &told.what {
            What::Switch { sleeps, .. } => self.switch(place, at, teller, task, *sleeps, next),
            What::Wake { cpu, how, .. } => {
                let counts = match how {
                    Wake::Begins => self.by_waking,
                    Wake::Done | Wake::New => true,
                };
                if let Some(task) = task.filter(|_| counts) {
                    self.wake(place, teller, task, self.cpu(*cpu));
                }
            }
            What::Migrate { cpu, .. } => {
                let Some(task) = self.fair(task) else { return };
                let cpu = self.cpu(*cpu);
                match just_woken.filter(|woken| self.by_waking && woken.0 == task) {
                    Some((_, woken)) => self.out[woken].2 = Seen::Wake { task, cpu },
                    None => self.out.push((place.0, place.1, Seen::Migrate { task, cpu })),
                }
            }
        }
    }

    fn wake(&mut self, place: (u64, usize), teller: usize, task: usize, cpu: usize) {
        let Some(number) = self.fair(Some(task)) else { return };
        match self.states[task] {
            State::Awake if self.on[task].is_some() => self.begun[task] = Some(cpu),
            State::Awake => {}
            State::Unknown | State::Asleep { .. } => {
                self.states[task] = State::Awake;
                self.just_woken[teller] = Some((number, self.out.len()));
                self.out.push((place.0, place.1, Seen::Wake { task: number, cpu }));
            }
        }
    }

    fn switch(
        &mut self,
        place: (u64, usize),
        at: usize,
        cpu: usize,
        prev: Option<usize>,
        sleeps: bool,
        next: Option<usize>,
    ) {
        let (from, to) = (self.fair(prev), self.fair(next));
        if let Some(since) = self.real_time[cpu].take() {
            // Of all CPUs together: what is said of centuries is no sum.
            let ran = place.0 - since;
            self.repairs.real_time_ns = self.repairs.real_time_ns.saturating_add(ran);
        }
        self.real_time[cpu] = (next.is_some() && to.is_none()).then_some(place.0);
        if self.running[cpu] != from {
            self.is_found_running(place, at, cpu, prev.filter(|_| from.is_some()));
        }
        if let Some(prev) = prev.filter(|_| from.is_some()) {
            let begun = self.begun[prev].take();
            let asleep = State::Asleep { since: place, begun };
            self.states[prev] = if sleeps { asleep } else { State::Awake };
            self.on[prev] = None;
        }
        if let Some(next) = next.filter(|_| to.is_some()) {
            self.leaves_elsewhere(place, next, cpu);
            self.is_awake(next);
            self.on[next] = Some(cpu);
            self.states[next] = State::Awake;
        }
        self.running[cpu] = to;
        self.out.push((place.0, place.1, Seen::Switch { cpu, task: to, sleeps }));
    }

    /// A task is switched from that was not known to run here: since the beginning, if no switch
    /// has shown it before, else something is missing.
    fn is_found_running(
        &mut self,
        place: (u64, usize),
        at: usize,
        cpu: usize,
        prev: Option<usize>,
    ) {
        let Some(prev) = prev else {
            self.repairs.mismatches += 1;
            return;
        };
        let task = self.fair(Some(prev));
        let first = self.numbering.tasks[prev].switched == Some(at) && self.running[cpu].is_none();
        let place = if first { (self.numbering.span.0, 0) } else { place };
        self.repairs.mismatches += usize::from(!first);
        self.leaves_elsewhere(place, prev, cpu);
        self.out.push((place.0, place.1, Seen::Switch { cpu, task, sleeps: false }));
    }

    /// A task that now runs on `cpu` does so nowhere else.
    fn leaves_elsewhere(&mut self, place: (u64, usize), task: usize, cpu: usize) {
        if let Some(other) = self.on[task].filter(|&other| other != cpu) {
            self.repairs.mismatches += 1;
            self.running[other] = None;
            self.on[task] = None;
            let gone = Seen::Switch { cpu: other, task: None, sleeps: false };
            self.out.push((place.0, place.1, gone));
        }
    }

    /// A task is switched to: it woke.
    fn is_awake(&mut self, task: usize) {
        let State::Asleep { since: (time, order), begun } = self.states[task] else { return };
        match (begun, self.fair(Some(task))) {
            (Some(cpu), Some(number)) => {
                self.out.push((time, order + 1, Seen::Wake { task: number, cpu }));
            }
            _ => self.repairs.unseen_wakeups += 1,
        }
    }
}

#[cfg(test)]
mod tests;
