//! One timed sample, and what is done around it.

use super::machine::preemptions;
use crate::layout::Layout;
use crate::model::Model;
use crate::ops::{Operation, Visits, walk};
use core::hint::black_box;
use corelocal::CpuId;
use crossbeam_epoch as epoch;
use std::time::{Duration, Instant};

/// Visits of a swept sample, at least: one walk over an ordinary tree, several over a small one. A
/// sample is short, so that it ends before the thread's time slice does.
const SWEPT_VISITS: u64 = 1000;
/// Visits of a warm sample, at least: a set that nearly fills a cache is not in the same state
/// after each walk.
const WARM_VISITS: u64 = 6000;
/// Walks before a warm sample: another layout was here before.
const WARM_UP: u32 = 3;
/// Samples that are thrown away in a row before one is kept though the thread was switched out.
const PATIENCE: u32 = 50;

/// A model whose layout is not known to the harness.
pub(super) trait Subject {
    /// [`walk`]s it.
    fn walk(&self, operation: Operation, cpu: CpuId, dependent: bool) -> Visits;
}

impl<L: Layout> Subject for Model<L> {
    fn walk(&self, operation: Operation, cpu: CpuId, dependent: bool) -> Visits {
        // Readers are pinned once a walk, as the kernel's are inside one RCU section.
        walk(self, &epoch::pin(), operation, cpu, dependent)
    }
}

/// In what state the caches are when a walk begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cache {
    /// As the same walk left them.
    Warm,
    /// Levels 1 and 2 full of other data.
    Swept,
}

impl Cache {
    /// The word in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Swept => "swept",
        }
    }
}

/// Data that replaces what the caches of level 1 and 2 hold.
#[derive(Debug)]
pub(super) struct Sweep(Vec<u64>);

impl Sweep {
    /// Twice the size of a level 2 cache of `l2` bytes.
    pub(super) fn new(l2: u64) -> Self {
        Self((0..2 * l2 / 8).collect())
    }

    fn run(&self) {
        // One word of each line.
        black_box(self.0.iter().step_by(8).fold(0_u64, |sum, &word| sum.wrapping_add(word)));
    }
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Task {
    /// The walk.
    pub operation: Operation,
    /// Whether the next group is read from the visited object.
    pub dependent: bool,
    /// The caches' state.
    pub cache: Cache,
}

impl Task {
    /// Every walk in every state.
    pub fn all() -> Vec<Self> {
        let mut tasks = Vec::new();
        for operation in Operation::ALL {
            for dependent in [true, false] {
                for cache in [Cache::Warm, Cache::Swept] {
                    if !dependent || operation.has_dependent() {
                        tasks.push(Self { operation, dependent, cache });
                    }
                }
            }
        }
        tasks
    }
}

/// A sample: nanoseconds a visit, and how many samples before it were thrown away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) ns: f64,
    pub(super) rejected: u32,
    pub(super) disturbed: bool,
}

/// Times `task`, again if the thread was switched out meanwhile.
pub(super) fn sample(subject: &dyn Subject, task: Task, cpu: CpuId, sweep: &Sweep) -> Sample {
    let mut rejected = 0;
    loop {
        let before = preemptions();
        let ns = attempt(subject, task, cpu, sweep);
        let disturbed = preemptions() != before;
        if !disturbed || rejected == PATIENCE {
            return Sample { ns, rejected, disturbed };
        }
        rejected += 1;
        // The next attempt begins with a fresh time slice.
        std::thread::yield_now();
    }
}

fn attempt(subject: &dyn Subject, task: Task, cpu: CpuId, sweep: &Sweep) -> f64 {
    let Task { operation, dependent, cache } = task;
    let walk = |operation| black_box(subject.walk(operation, cpu, dependent));
    // A throttle walk is undone, an unthrottle walk is prepared: outside of the timed part.
    let (before, after) = match operation {
        Operation::Throttle => (None, Some(Operation::Unthrottle)),
        Operation::Unthrottle => (Some(Operation::Throttle), None),
        _ => (None, None),
    };
    let (mut time, mut visits) = (Duration::ZERO, 0);
    let (mut warm_up, enough) = match cache {
        Cache::Warm => (WARM_UP, WARM_VISITS),
        Cache::Swept => (0, SWEPT_VISITS),
    };
    while visits < enough {
        before.map(walk);
        if cache == Cache::Swept {
            sweep.run();
        }
        let start = Instant::now();
        let done = walk(operation);
        let took = start.elapsed();
        after.map(walk);
        if done.count == 0 {
            return 0.0;
        }
        if warm_up > 0 {
            warm_up -= 1;
        } else {
            time += took;
            visits += done.count;
        }
    }
    time.as_secs_f64() * 1e9 / visits as f64
}
