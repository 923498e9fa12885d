//! From what a recorded trace shows to what the simulator is fed with.
//!
//! A trace tells when each task was set running, fell asleep and woke. What a task would have done
//! under another pick is what it did: between a wake-up and the next sleep it got some service, and
//! that much it wants here. So the model is fed with the trace's wake-ups, each with that work, and
//! decides the rest itself; the trace's own accounts come out beside it.

use super::event::{Event, Timed};
use super::record::Record;

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

/// Reads a trace: what was seen, in the order of time, of so many tasks and CPUs. It ends at `end`.
/// A task that runs before it was seen waking woke at that moment.
///
/// # Panics
///
/// If a task or CPU is not among those, or time goes back.
pub fn read(seen: &[(u64, Seen)], tasks: usize, cpus: usize, end: u64) -> Recorded {
    let mut record = Record::new(tasks, cpus);
    let mut events: Vec<Timed> = Vec::new();
    // Where in `events` each task's last wake-up is, and its service until then.
    let mut woke: Vec<Option<(usize, u64)>> = vec![None; tasks];
    for &(now, what) in seen {
        let mut wakes = |record: &mut Record, task: u32, cpu: usize| {
            if record.sleeps(task) {
                woke[task as usize] = Some((events.len(), record.of(task).service));
                events.push((now, Event::Wake { task, cpu: Some(cpu), work: None }));
                record.wake(now, task);
            }
        };
        match what {
            Seen::Wake { task, cpu } => wakes(&mut record, task, cpu),
            Seen::Migrate { task, cpu } => events.push((now, Event::Migrate { task, cpu })),
            Seen::Switch { cpu, task, sleeps } => {
                if let Some(task) = task {
                    wakes(&mut record, task, cpu);
                }
                let before = record.running(cpu).filter(|_| sleeps);
                if let Some(before) = before.filter(|&before| Some(before) != task) {
                    record.sleep(now, before);
                    let done = record.of(before).service;
                    if let Some((at, since)) = woke[before as usize].take() {
                        finish(&mut events[at], done - since);
                    }
                }
                record.switch(now, cpu, task);
            }
        }
    }
    (0..tasks as u32).for_each(|task| record.settle(end, task));
    Recorded { record, events }
}

/// Now it is known for how much work this was.
fn finish(event: &mut Timed, done: u64) {
    if let Event::Wake { work, .. } = &mut event.1 {
        *work = Some(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_wants_what_it_got_until_the_next_sleep() {
        let on = |task| Seen::Switch { cpu: 0, task: Some(task), sleeps: false };
        let seen = [
            (0, Seen::Wake { task: 0, cpu: 0 }),
            (0, on(0)),
            (10, Seen::Wake { task: 1, cpu: 0 }),
            (15, on(1)),
            (20, Seen::Switch { cpu: 0, task: Some(0), sleeps: true }),
            (50, Seen::Switch { cpu: 0, task: None, sleeps: true }),
        ];
        let Recorded { record, events } = read(&seen, 2, 1, 60);
        let wake = |task, work| Event::Wake { task, cpu: Some(0), work: Some(work) };
        assert_eq!(events, [(0, wake(0, 45)), (10, wake(1, 5))]);
        assert_eq!((record.of(0).service, record.of(0).waiting), (45, 5));
        assert_eq!((record.of(1).service, record.of(1).latencies.as_slice()), (5, &[5][..]));
    }
}
