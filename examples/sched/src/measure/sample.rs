//! One timed sample, and what is done around it.

use super::machine::preemptions;
use crate::layout::Layout;
use crate::model::Model;
use crate::ops::{Operation, Visits, walk};
use core::hint::black_box;
use corelocal::CpuId;
use crossbeam_epoch as epoch;
use std::time::{Duration, Instant};

/// Visits after which a sample is long enough: for a warm one several walks over an ordinary tree, because a
/// set that nearly fills a cache is not in the same state after each; for a swept one a single
/// walk, so that it ends before the thread's time slice does.
const fn enough_visits(cache: Cache) -> u64 {
    match cache {
        Cache::Warm => 6000,
        Cache::Swept => 1000,
    }
}
/// Walks that a sample has at most, however small the tree: a sweep takes longer than any walk.
const fn enough_walks(cache: Cache) -> u64 {
    match cache {
        Cache::Warm => 200,
        Cache::Swept => 4,
    }
}
/// Visits before the first timed walk, at least: another layout was here before. A swept sample is
/// prepared too, so that level 3 holds every layout's state equally: without it L0, which is walked
/// twice as often because of its second name, would be found there more often.
const fn warm_up_visits(cache: Cache) -> u64 {
    match cache {
        Cache::Warm => 3000,
        Cache::Swept => 1,
    }
}

/// How much longer the harness may repeat samples during which the thread was switched out.
///
/// On a machine that is busy with other things most samples could be disturbed: without an end to
/// the patience the program would run for hours.
#[derive(Debug)]
pub(super) struct Patience(Duration);

impl Patience {
    pub(super) fn new(time: Duration) -> Self {
        Self(time)
    }
}

/// A model whose layout is not known to the harness.
pub(super) trait Subject {
    /// The layout's name.
    fn name(&self) -> &'static str;

    /// [`walk`]s it.
    fn walk(&self, operation: Operation, cpu: CpuId, dependent: bool) -> Visits;
}

impl<L: Layout> Subject for Model<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

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
        // One word of each line. A plain loop, because adapters take milliseconds in debug builds.
        let (mut at, mut sum) = (0, 0_u64);
        while at < self.0.len() {
            sum = sum.wrapping_add(self.0[at]);
            at += 8;
        }
        black_box(sum);
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

/// Times `task`, again if the thread was switched out meanwhile and there is patience left.
pub(super) fn sample(
    subject: &dyn Subject,
    task: Task,
    cpu: CpuId,
    sweep: &Sweep,
    patience: &mut Patience,
) -> Sample {
    let mut rejected = 0;
    loop {
        let (start, before) = (Instant::now(), preemptions());
        let ns = attempt(subject, task, cpu, sweep);
        let disturbed = preemptions() != before;
        if !disturbed || patience.0.is_zero() {
            return Sample { ns, rejected, disturbed };
        }
        patience.0 = patience.0.saturating_sub(start.elapsed());
        rejected += 1;
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
    let (mut time, mut visits, mut walks) = (Duration::ZERO, 0, 0);
    let mut warm_up = warm_up_visits(cache);
    while visits < enough_visits(cache) && walks < enough_walks(cache) {
        before.map(walk);
        if cache == Cache::Swept && warm_up == 0 {
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
            warm_up = warm_up.saturating_sub(done.count);
        } else {
            time += took;
            visits += done.count;
            walks += 1;
        }
    }
    time.as_secs_f64() * 1e9 / visits as f64
}
