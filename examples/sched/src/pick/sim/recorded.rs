//! From what a recorded trace shows to what the simulator is fed with.
//!
//! A trace tells when each task was set running, fell asleep and woke. What a task would have done
//! under another pick is what it did: between a wake-up and the next sleep it got some service, and
//! that much it wants here. So the model is fed with the trace's wake-ups, each with that work, and
//! decides the rest itself; the trace's own accounts come out beside it, reckoned in the same way.

use super::due::Due;
use super::event::{Event, Timed};
use super::record::Record;
use crate::pick::world::World;

/// What a trace shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A task woke on a CPU.
    Wake {
        /// The task.
        task: u32,
        /// Where it was put.
        cpu: usize,
    },
    /// From now on a CPU runs another task, or none.
    Switch {
        /// The CPU.
        cpu: usize,
        /// Who runs from now on.
        task: Option<u32>,
        /// Whether the task that ran until now sleeps; else it waits.
        sleeps: bool,
    },
    /// A task was moved.
    Migrate {
        /// The task.
        task: u32,
        /// Where to.
        cpu: usize,
    },
}

/// What a trace came to.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The trace's own accounts.
    pub record: Record,
    /// What to [feed](super::Sim::feed) the simulator with.
    pub events: Vec<Timed>,
}

/// A trace while it is read.
struct Reader<'a> {
    world: &'a World,
    record: Record,
    due: Due,
    events: Vec<Timed>,
    /// Where in `events` each task's last wake-up is, and its service until then.
    woke: Vec<Option<(usize, u64)>>,
    cpus: Vec<usize>,
    /// Runnable tasks of each CPU.
    present: Vec<Vec<u32>>,
}

/// Reads a trace of the tasks of `world` on so many CPUs: what was seen, in the order of time. It
/// ends at `end`. A task that runs before it was seen waking woke at that moment, one that runs
/// elsewhere than it was last was moved there. O(groups x CPUs) an entry, for what is due.
///
/// # Panics
///
/// If a task or CPU is not among those, or time goes back.
pub fn read(seen: &[(u64, Seen)], world: &World, cpus: usize, end: u64) -> Recorded {
    let tasks = world.tasks();
    let mut reader = Reader {
        world,
        record: Record::new(tasks, cpus),
        due: Due::default(),
        events: Vec::new(),
        woke: vec![None; tasks],
        cpus: vec![0; tasks],
        present: vec![Vec::new(); cpus],
    };
    for &(now, what) in seen {
        match what {
            Seen::Wake { task, cpu } => reader.wake(now, task, cpu),
            Seen::Migrate { task, cpu } => reader.migrate(now, task, cpu),
            Seen::Switch { cpu, task, sleeps } => reader.switch(now, cpu, task, sleeps),
        }
        reader.settle(now);
    }
    reader.settle(end);
    (0..tasks as u32).for_each(|task| reader.record.settle(end, task));
    Recorded { record: reader.record, events: reader.events }
}

impl Reader<'_> {
    fn settle(&mut self, now: u64) {
        self.due.settle(now, &mut self.record, self.world, &self.present);
    }

    fn wake(&mut self, now: u64, task: u32, cpu: usize) {
        if self.record.sleeps(task) {
            let at = task as usize;
            self.woke[at] = Some((self.events.len(), self.record.of(task).service));
            self.events.push((now, Event::Wake { task, cpu: Some(cpu), work: None }));
            self.record.wake(now, task);
            self.cpus[at] = cpu;
            self.present[cpu].push(task);
        }
    }

    fn migrate(&mut self, now: u64, task: u32, cpu: usize) {
        let from = core::mem::replace(&mut self.cpus[task as usize], cpu);
        if from != cpu {
            self.events.push((now, Event::Migrate { task, cpu }));
            if !self.record.sleeps(task) {
                self.present[from].retain(|&other| other != task);
                self.present[cpu].push(task);
            }
        }
    }

    fn switch(&mut self, now: u64, cpu: usize, task: Option<u32>, sleeps: bool) {
        let before = self.record.running(cpu).filter(|&before| sleeps && Some(before) != task);
        if let Some(before) = before {
            self.sleep(now, before);
        }
        if let Some(task) = task {
            self.wake(now, task, cpu);
            self.migrate(now, task, cpu);
        }
        self.record.switch(now, cpu, task);
    }

    /// Now it is known how much work the last wake-up was for.
    fn sleep(&mut self, now: u64, task: u32) {
        self.record.sleep(now, task);
        let cpu = self.cpus[task as usize];
        self.present[cpu].retain(|&other| other != task);
        let done = self.record.of(task).service;
        if let Some((at, since)) = self.woke[task as usize].take() {
            if let Event::Wake { work, .. } = &mut self.events[at].1 {
                *work = Some(done - since);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pick::entity::NICE_0;
    use crate::pick::policy::CgroupMode;
    use crate::pick::world::{Groups, ROOT};

    #[test]
    fn a_wake_up_wants_what_it_got_until_the_next_sleep() {
        let mut world = World::new(Groups::new(CgroupMode::Up, 1));
        for _ in 0..2 {
            world.add_task(ROOT, NICE_0, None);
        }
        let on = |task| Seen::Switch { cpu: 0, task: Some(task), sleeps: false };
        let seen = [
            (0, Seen::Wake { task: 0, cpu: 0 }),
            (0, on(0)),
            (10, Seen::Wake { task: 1, cpu: 0 }),
            (15, on(1)),
            (20, Seen::Switch { cpu: 0, task: Some(0), sleeps: true }),
            (50, Seen::Switch { cpu: 0, task: None, sleeps: true }),
        ];
        let Recorded { record, events } = read(&seen, &world, 1, 60);
        let wake = |task, work| Event::Wake { task, cpu: Some(0), work: Some(work) };
        assert_eq!(events, [(0, wake(0, 45)), (10, wake(1, 5))]);
        assert_eq!((record.of(0).service, record.of(0).waiting), (45, 5));
        assert_eq!((record.of(1).service, record.of(1).latencies.as_slice()), (5, &[5][..]));
        // Alone, for ten nanoseconds together, alone again.
        assert_eq!((record.of(0).due, record.of(1).due), (10.0 + 5.0 + 30.0, 5.0));
    }
}
