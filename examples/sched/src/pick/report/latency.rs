//! How long woken threads wait: workers that messengers wake, as a message benchmark has them.

use crate::pick::entity::NICE_0;
use crate::pick::policy::CgroupMode;
use crate::pick::sim::{Event, Options, Reacts, Sim, Timed};
use crate::pick::{Groups, Picker, ROOT, World};
use crate::rng::Rng;
use serde::Serialize;

/// CPUs of the simulated machine.
pub const CPUS: usize = 8;
/// Workers that a messenger wakes.
const A_MESSENGER: u32 = 8;
/// A worker's work: so many microseconds, and up to so many more.
const WORK: (u64, u64) = (1_000, 2_000);
/// Microseconds until the answer to a worker's message is there, at most.
const THINK: u64 = 10_000;
/// A messenger's work for a message, nanoseconds.
const MESSAGE: u64 = 20_000;
/// Spinners beside the benchmark.
const SPINNERS: u32 = 4;

/// The wake-up latencies of one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Latency {
    /// The pick.
    pub picker: &'static str,
    /// Workers.
    pub threads: u32,
    /// Wake-ups of workers.
    pub wakeups: usize,
    /// Microseconds that half of them waited at most, then 99 and 99.9 %.
    pub us: [f64; 3],
}

/// Messengers and the workers whose answers they have.
struct Messages {
    workers: u32,
    /// The workers that each messenger will wake.
    answers: Vec<Vec<u32>>,
    rng: Rng,
}

impl Messages {
    fn work(&mut self) -> u64 {
        1_000 * (WORK.0 + self.rng.below(WORK.1 as usize) as u64)
    }
}

impl Reacts for Messages {
    fn finished(&mut self, now: u64, task: u32, later: &mut Vec<Timed>) {
        if task < self.workers {
            // A message goes out, and its answer comes after a while.
            let messenger = task / A_MESSENGER;
            let at = now + 1_000 * self.rng.below(THINK as usize) as u64;
            self.answers[messenger as usize].push(task);
            let task = self.workers + messenger;
            later.push((at, Event::Wake { task, cpu: None, work: Some(MESSAGE) }));
        } else {
            let answers = core::mem::take(&mut self.answers[(task - self.workers) as usize]);
            for task in answers {
                let work = Some(self.work());
                later.push((now, Event::Wake { task, cpu: None, work }));
            }
        }
    }
}

/// Each eight workers and their messenger are in a group of their own two levels down; spinners are
/// in another group beside those.
fn world(workers: u32) -> World {
    let mut groups = Groups::new(CgroupMode::Concur, CPUS);
    let (services, batch) = (groups.add(ROOT, NICE_0), groups.add(ROOT, NICE_0));
    let messengers = workers.div_ceil(A_MESSENGER);
    let own: Vec<u32> = (0..messengers)
        .map(|_| {
            let service = groups.add(services, NICE_0);
            groups.add(service, NICE_0)
        })
        .collect();
    let mut world = World::new(groups);
    for worker in 0..workers {
        world.add_task(own[(worker / A_MESSENGER) as usize], NICE_0, None);
    }
    for &own in &own {
        world.add_task(own, NICE_0, None);
    }
    for _ in 0..SPINNERS {
        world.add_task(batch, NICE_0, None);
    }
    world
}

/// Simulates so many nanoseconds of `threads` workers.
pub fn latency<P: Picker>(threads: u32, seed: u64, time: u64) -> Latency {
    let world = world(threads);
    let messengers = threads.div_ceil(A_MESSENGER);
    let answers = vec![Vec::new(); messengers as usize];
    let mut messages = Messages { workers: threads, answers, rng: Rng::new(seed) };
    let mut sim = Sim::<P>::new(world, CPUS, Options { balances: true, ..Options::default() });
    for spinner in 0..SPINNERS {
        let (task, cpu) = (threads + messengers + spinner, Some(spinner as usize * 2));
        sim.feed([(0, Event::Wake { task, cpu, work: None })]);
    }
    for task in 0..threads {
        let (at, work) = (1_000 * messages.rng.below(THINK as usize) as u64, messages.work());
        sim.feed([(at, Event::Wake { task, cpu: None, work: Some(work) })]);
    }
    sim.run(time, &mut messages);
    let mut waits: Vec<u64> =
        (0..threads).flat_map(|task| sim.record.of(task).latencies.iter().copied()).collect();
    waits.sort_unstable();
    let us = [500, 990, 999].map(|per_mille| quantile(&waits, per_mille) as f64 / 1e3);
    Latency { picker: P::NAME, threads, wakeups: waits.len(), us }
}

/// The least value that so many of a thousand are not above; 0 of none.
fn quantile(sorted: &[u64], per_mille: usize) -> u64 {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_value_that_so_many_do_not_exceed() {
        let values: Vec<u64> = (1..=1000).collect();
        assert_eq!([500, 990, 999].map(|at| quantile(&values, at)), [500, 990, 999]);
        assert_eq!((quantile(&[7], 999), quantile(&[], 500)), (7, 0));
    }
}
