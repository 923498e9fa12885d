//! Histograms whose sections are held up at every point, and cut off there, by threads that are moved,
//! interrupted by a handler that records too, and in part not told their CPU: counts and sums add up
//! to the unit.

use corelocal::histogram::{Fixed, LogLinear, WithSum};
use corelocal::sys::rseq::Points;
use corelocal::{PerCpuHistogram, StaticHistogram};
use rseq_tests::churn;
use rseq_tests::implementation::{Entries, sections};
use rseq_tests::run::{Plan, disturbed};
use std::sync::atomic::{AtomicU64, Ordering};

static ALL: StaticHistogram<17> = StaticHistogram::new(LogLinear);

struct Work {
    sizes: PerCpuHistogram<20, WithSum<LogLinear<2>>>,
    bounds: PerCpuHistogram<4, Fixed<4>>,
    steps: [AtomicU64; 16],
}

impl Work {
    fn new() -> Self {
        Self {
            sizes: PerCpuHistogram::new(WithSum(LogLinear)),
            bounds: PerCpuHistogram::new(Fixed::new(&[3, 7, 11])),
            steps: [const { AtomicU64::new(0) }; 16],
        }
    }

    /// Runs in signal handlers as well: so no snapshots, which take memory.
    fn step(&self) {
        let value = churn::random() % 16;
        self.sizes.record(value);
        self.bounds.record_n(value, 2);
        ALL.record(value);
        // Relaxed: read when all threads are done.
        self.steps[value as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn check(&self, what: &str, before: &[u64]) {
        let steps = self.steps.each_ref().map(|steps| steps.load(Ordering::Relaxed));
        let all = ALL.snapshot();
        let grown = all.counts().iter().zip(before).map(|(now, before)| now - before);
        assert!(grown.take(16).eq(steps), "{what}: {steps:?}, {:?} of {before:?}", all.counts());

        let quarters: Vec<u64> = steps.chunks(4).map(|four| 2 * four.iter().sum::<u64>()).collect();
        assert_eq!(self.bounds.snapshot().counts(), quarters, "{what}");

        let sizes = self.sizes.snapshot();
        let sum = steps.iter().zip(0..).map(|(steps, value)| steps * value).sum();
        assert_eq!((sizes.count(), sizes.sum()), (steps.iter().sum(), Some(sum)), "{what}");
    }
}

#[test]
fn histograms_that_are_cut_off_at_any_point_are_exact() {
    let _ = (Entries::new(), sections());
    let mut aborts = [0; Points::COUNT];
    for (point, aborts) in aborts.iter_mut().enumerate() {
        let (before, counts) = (churn::counts(), ALL.snapshot());
        let mut turns = [0; Points::COUNT];
        turns[point] = 5_000;
        let work = Work::new();
        let plan = Plan { threads: 6, steps: 2_000, unregistered: 1, turns, ..Plan::default() };
        disturbed(plan, &|| work.step());
        work.check(&format!("held up at point {point}"), counts.counts());
        *aborts = churn::counts().0 - before.0;
    }
    eprintln!("cut off while held up at points 0 to 8: {aborts:?}");
    if sections().is_some() {
        // Points that a record passes: before the id is read, before the address is made, before
        // the commit.
        assert!(aborts[1].min(aborts[3]).min(aborts[7]) > 20, "{aborts:?}");
    }
}
