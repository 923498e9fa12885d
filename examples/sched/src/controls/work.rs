//! What programs do between the calls of the model.

use super::TASKS;
use crate::rng::Rng;
use core::hint::black_box;
use std::collections::VecDeque;

/// What happens to a CPU's queues. Tasks are numbered from 0.
pub trait Queues {
    /// A task wakes.
    fn enqueue(&self, task: usize);
    /// A task sleeps.
    fn dequeue(&self, task: usize);
    /// The CPU goes from one queued task to another.
    fn switch(&self, from: usize, to: usize);
    /// A millisecond is over while this queued task runs.
    fn tick(&self, task: usize);
}

/// A workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// In the manner of `sysbench cpu`: independent tasks that only compute.
    Spinners,
    /// In the manner of `hackbench`: groups of senders, each of which writes to all receivers of
    /// its group.
    Messages,
    /// In the manner of `ebizzy`: tasks that allocate, copy and search.
    Searches,
}

/// Tasks that only compute.
const SPINNERS: usize = 8;
/// Senders in a group, and as many receivers.
const SENDERS: usize = 4;
/// Bytes of a message.
const MESSAGE: usize = 100;
/// Values of a chunk that is copied and searched.
const CHUNK: usize = 1024;
/// Chunks to copy from.
const CHUNKS: usize = 64;

/// The programs' own memory, the same for each subject.
#[derive(Debug)]
pub struct Work {
    rng: Rng,
    pipes: Vec<VecDeque<[u8; MESSAGE]>>,
    table: Vec<u64>,
}

impl Work {
    /// Memory that is filled from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            pipes: vec![VecDeque::with_capacity(SENDERS); TASKS],
            table: (0..(CHUNKS * CHUNK) as u64).map(|at| at * 3).collect(),
        }
    }
}

impl Control {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Spinners, Self::Messages, Self::Searches];

    /// The name in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spinners => "sysbench-like",
            Self::Messages => "hackbench-like",
            Self::Searches => "ebizzy-like",
        }
    }

    /// What one step is.
    pub const fn step(self) -> &'static str {
        match self {
            Self::Spinners => "one of 8 tasks looks for primes, a tick, another task every third",
            Self::Messages => {
                "one of 16 senders wakes, writes to 4 receivers, who wake, read, sleep"
            }
            Self::Searches => {
                "one of 8 tasks allocates 8 KiB, copies, searches; 16 of these a tick"
            }
        }
    }

    /// Does so many steps; no task is queued before and after.
    pub fn run(self, on: &dyn Queues, work: &mut Work, steps: u32) {
        match self {
            Self::Spinners => computing(on, steps, 3, || primes(work)),
            Self::Messages => (0..steps as usize).for_each(|step| send(on, work, step)),
            Self::Searches => {
                let mut left = steps;
                computing(on, steps.div_ceil(16), 1, || {
                    (0..left.min(16)).for_each(|_| search(work));
                    left = left.saturating_sub(16);
                });
            }
        }
    }
}

/// Tasks that never sleep take turns of `slice` ticks.
fn computing(on: &dyn Queues, ticks: u32, slice: u32, mut compute: impl FnMut()) {
    (0..SPINNERS).for_each(|task| on.enqueue(task));
    let mut runs = 0;
    for tick in 1..=ticks {
        compute();
        on.tick(runs);
        if tick % slice == 0 {
            let next = (runs + 1) % SPINNERS;
            on.switch(runs, next);
            runs = next;
        }
    }
    (0..SPINNERS).for_each(|task| on.dequeue(task));
}

/// The primes below a thousand, by trial division from a number that differs each time.
fn primes(work: &mut Work) {
    let from = 3 + work.rng.below(8) as u64;
    let is_prime = |n: u64| (2..).take_while(|d| d * d <= n).all(|d| n % d != 0);
    black_box((from..1000).filter(|&n| is_prime(n)).count());
}

fn send(on: &dyn Queues, work: &mut Work, step: usize) {
    let sender = step % (TASKS / 2);
    let group = sender / SENDERS;
    let receivers = TASKS / 2 + group * SENDERS..TASKS / 2 + (group + 1) * SENDERS;
    on.enqueue(sender);
    let message = [work.rng.below(256) as u8; MESSAGE];
    for receiver in receivers.clone() {
        work.pipes[receiver].push_back(black_box(message));
        on.enqueue(receiver);
    }
    if step % 64 == 0 {
        on.tick(sender);
    }
    let mut runs = sender;
    for receiver in receivers {
        on.switch(runs, receiver);
        on.dequeue(runs);
        runs = receiver;
        let read = work.pipes[receiver].pop_front();
        black_box(read.map(|read| read.iter().map(|&byte| u32::from(byte)).sum::<u32>()));
    }
    on.dequeue(runs);
}

fn search(work: &mut Work) {
    let chunk = work.rng.below(CHUNKS) * CHUNK;
    let copy = black_box(work.table[chunk..chunk + CHUNK].to_vec());
    let key = copy[0] + work.rng.below(3 * CHUNK) as u64;
    black_box(copy.binary_search(&key).is_ok());
}
