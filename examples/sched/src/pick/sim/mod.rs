//! A simulator of CPUs in virtual time, driven by a list of events.
//!
//! It does what happens around a pick: ticks of one millisecond, wake-ups that may preempt, tasks
//! that move to a CPU that would be idle. Switching, waking and moving cost nothing. The same list
//! of events gives the same run, bit for bit: what happens at one time happens in a fixed order (ends
//! of work, events in the list's order, ticks by CPU).

pub mod due;
pub mod event;
mod record;
pub mod recorded;

pub use event::{Event, Reacts, Timed};
pub use record::{Account, Record};

use super::entity::TICK;
use super::world::World;
use super::{Features, Picker};
use due::Due;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What can be chosen for a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What the picks do.
    pub features: Features,
    /// A CPU that would be idle takes a task that waits elsewhere.
    pub balances: bool,
    /// What is due to each task is reckoned.
    pub reckons_due: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// The running task of a CPU has done its work, unless another runs there by now.
    Done {
        cpu: usize,
        switches: u64,
    },
    /// The event of this number.
    Event(usize),
    Tick(usize),
}

#[derive(Clone, Debug)]
struct Cpu<P> {
    picker: P,
    /// How often it took another task.
    switches: u64,
    /// Up to when the running task's work is counted.
    since: u64,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    cpu: usize,
    /// Work that is left; `None` is without end.
    left: Option<u64>,
}

/// The simulator with one [`Picker`] a CPU.
#[derive(Clone, Debug)]
pub struct Sim<P> {
    /// Groups and tasks.
    pub world: World,
    /// What the tasks got.
    pub record: Record,
    cpus: Vec<Cpu<P>>,
    runs: Vec<Run>,
    /// Runnable tasks of each CPU.
    present: Vec<Vec<u32>>,
    due: Due,
    options: Options,
    now: u64,
    events: Vec<Event>,
    coming: BinaryHeap<Reverse<(u64, What)>>,
}

impl<P: Picker> Sim<P> {
    /// All tasks of `world` asleep on CPU 0.
    ///
    /// # Panics
    ///
    /// If there is no CPU.
    pub fn new(world: World, cpus: usize, options: Options) -> Self {
        assert!(cpus > 0, "nothing can run on no CPU");
        let groups = world.groups.len();
        let cpu = |_| Cpu { picker: P::new(groups, options.features), switches: 0, since: 0 };
        Self {
            record: Record::new(world.tasks(), cpus),
            cpus: (0..cpus).map(cpu).collect(),
            runs: vec![Run { cpu: 0, left: None }; world.tasks()],
            present: vec![Vec::new(); cpus],
            due: Due::default(),
            options,
            now: 0,
            events: Vec::new(),
            coming: (0..cpus).map(|cpu| Reverse((TICK, What::Tick(cpu)))).collect(),
            world,
        }
    }

    /// The time, nanoseconds from the start.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A CPU's pick.
    ///
    /// # Panics
    ///
    /// If there is no such CPU.
    pub fn picker(&self, cpu: usize) -> &P {
        &self.cpus[cpu].picker
    }

    /// The CPU that a task is or was on.
    pub fn cpu_of(&self, task: u32) -> usize {
        self.runs[task as usize].cpu
    }

    /// Adds to what will happen. What should have happened already happens now.
    pub fn feed(&mut self, events: impl IntoIterator<Item = Timed>) {
        for (at, event) in events {
            self.coming.push(Reverse((at.max(self.now), What::Event(self.events.len()))));
            self.events.push(event);
        }
    }

    /// Lets time go on to `end`, at which the accounts are up to date.
    pub fn run(&mut self, end: u64, reacts: &mut impl Reacts) {
        let mut later = Vec::new();
        while let Some(&Reverse((at, what))) = self.coming.peek() {
            if at > end {
                break;
            }
            self.coming.pop();
            self.now = at;
            match what {
                What::Done { cpu, switches } if self.cpus[cpu].switches == switches => {
                    if let Some(task) = self.record.running(cpu) {
                        self.sleep(task);
                        reacts.finished(at, task, &mut later);
                        self.feed(later.drain(..));
                    }
                }
                What::Done { .. } => {}
                What::Event(number) => self.happens(self.events[number]),
                What::Tick(cpu) => {
                    self.tick(cpu);
                    self.coming.push(Reverse((at + TICK, What::Tick(cpu))));
                }
            }
        }
        self.now = end;
        self.settle();
        (0..self.runs.len() as u32).for_each(|task| self.record.settle(end, task));
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Wake { task, cpu, work } => self.wake(task, cpu, work),
            Event::Sleep { task } => self.sleep(task),
            Event::Migrate { task, cpu } => self.migrate(task, cpu),
            Event::SetWeight { task, weight } => {
                let cpu = self.cpu_of(task);
                self.cpus[cpu].picker.set_weight(self.now, task, weight, &mut self.world);
                self.settle();
            }
            Event::SetShares { group, shares } => {
                self.world.groups.set_shares(group, shares);
                for cpu in &mut self.cpus {
                    cpu.picker.group_changed(self.now, group, &mut self.world);
                }
                self.settle();
            }
        }
    }

    fn wake(&mut self, task: u32, cpu: Option<usize>, work: Option<u64>) {
        let run = &mut self.runs[task as usize];
        if !self.record.sleeps(task) {
            run.left = run.left.zip(work).map(|(left, more)| left + more);
            if let Some(cpu) = self.running_on(task) {
                self.expect_end(cpu);
            }
            return;
        }
        run.left = work;
        let cpu = cpu.unwrap_or_else(|| self.cpu_to_wake_on(task));
        let before = core::mem::replace(&mut self.runs[task as usize].cpu, cpu);
        if before != cpu && self.world.task(task).on.is_some() {
            // Delayed there: what it has not paid yet it takes along.
            self.cpus[before].picker.dequeue(self.now, task, true, &mut self.world);
        }
        self.record.wake(self.now, task);
        self.arrive(task, cpu);
    }

    /// Lets `task` compete on `cpu`, and run there if it should.
    fn arrive(&mut self, task: u32, cpu: usize) {
        self.present[cpu].push(task);
        self.settle();
        let picker = &mut self.cpus[cpu].picker;
        picker.enqueue(self.now, task, &mut self.world);
        if picker.preempts(self.now, task, &self.world) {
            self.pick(cpu);
        }
    }

    /// Where it was, else the first idle one, else where it was.
    fn cpu_to_wake_on(&self, task: u32) -> usize {
        let before = self.cpu_of(task);
        let idle = |cpu: &usize| self.present[*cpu].is_empty();
        let all = (0..self.cpus.len()).find(idle);
        if idle(&before) { before } else { all.unwrap_or(before) }
    }

    fn running_on(&self, task: u32) -> Option<usize> {
        let cpu = self.cpu_of(task);
        (self.record.running(cpu) == Some(task)).then_some(cpu)
    }

    fn sleep(&mut self, task: u32) {
        if self.record.sleeps(task) {
            return;
        }
        let (cpu, ran) = (self.cpu_of(task), self.running_on(task).is_some());
        self.depart(task, true);
        self.record.sleep(self.now, task);
        if ran {
            self.pick(cpu);
        }
    }

    /// Ends the competition for `task` on its CPU.
    fn depart(&mut self, task: u32, sleep: bool) {
        let cpu = self.cpu_of(task);
        self.count_work(cpu);
        self.present[cpu].retain(|&other| other != task);
        self.settle();
        self.cpus[cpu].picker.dequeue(self.now, task, sleep, &mut self.world);
    }

    fn migrate(&mut self, task: u32, to: usize) {
        let from = self.cpu_of(task);
        if from == to {
            return;
        }
        let ran = self.running_on(task).is_some();
        if self.record.sleeps(task) {
            if self.world.task(task).on.is_some() {
                self.cpus[from].picker.dequeue(self.now, task, true, &mut self.world);
            }
            self.runs[task as usize].cpu = to;
            return;
        }
        self.depart(task, false);
        self.runs[task as usize].cpu = to;
        if ran {
            self.pick(from);
        }
        self.arrive(task, to);
    }

    fn tick(&mut self, cpu: usize) {
        if self.record.running(cpu).is_some() {
            let over = self.cpus[cpu].picker.tick(self.now, &mut self.world);
            if over {
                self.pick(cpu);
            }
        }
    }

    /// Lets the CPU decide anew.
    fn pick(&mut self, cpu: usize) {
        self.count_work(cpu);
        let task = self.cpus[cpu].picker.pick(self.now, &mut self.world);
        if task.is_none() && self.options.balances {
            if let Some(task) = self.waiting_elsewhere() {
                self.record.switch(self.now, cpu, None);
                self.cpus[cpu].switches += 1;
                return self.migrate(task, cpu);
            }
        }
        if self.record.running(cpu) != task {
            self.record.switch(self.now, cpu, task);
            self.expect_end(cpu);
        }
    }

    /// Tells when the running task's work ends, from now on.
    fn expect_end(&mut self, cpu: usize) {
        self.count_work(cpu);
        let state = &mut self.cpus[cpu];
        state.switches += 1;
        let task = self.record.running(cpu);
        if let Some(left) = task.and_then(|task| self.runs[task as usize].left) {
            let done = What::Done { cpu, switches: state.switches };
            self.coming.push(Reverse((self.now + left, done)));
        }
    }

    /// Takes what the running task did since the last time off its work.
    fn count_work(&mut self, cpu: usize) {
        let ran = self.now - core::mem::replace(&mut self.cpus[cpu].since, self.now);
        if let Some(task) = self.record.running(cpu) {
            let left = &mut self.runs[task as usize].left;
            *left = left.map(|left| left.saturating_sub(ran));
        }
    }

    /// The first waiting task of the CPU where most wait.
    fn waiting_elsewhere(&self) -> Option<u32> {
        let waiting = |tasks: &&Vec<u32>| tasks.iter().filter(|&&t| self.record.waits(t)).count();
        let busiest = self.present.iter().rev().max_by_key(waiting)?;
        busiest.iter().copied().find(|&task| self.record.waits(task))
    }

    fn settle(&mut self) {
        if self.options.reckons_due {
            self.due.settle(self.now, &mut self.record, &self.world, &self.present);
        }
    }
}
