//! Counters whose sections are held up at every point, and cut off there, by threads that are moved,
//! interrupted by a handler that counts and takes too, and in part not told their CPU: what was
//! counted, taken and let in adds up to the unit.

use corelocal::sys::rseq::Points;
use corelocal::{BatchedCounter, CounterSet, PerCpuCounter, PerCpuGauge};
use rseq_tests::churn;
use rseq_tests::implementation::{Entries, sections};
use rseq_tests::run::{Plan, disturbed};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Far enough to have stocks, near enough to be reached.
const LIMIT: i64 = 5_000;

struct Work {
    counter: PerCpuCounter,
    gauge: PerCpuGauge,
    set: CounterSet,
    batched: BatchedCounter,
    limited: BatchedCounter,
    steps: AtomicU64,
    taken: AtomicU64,
    level: AtomicI64,
    admitted: AtomicI64,
}

impl Work {
    fn new() -> Self {
        Self {
            counter: PerCpuCounter::new(),
            gauge: PerCpuGauge::new(),
            set: CounterSet::try_new(3).unwrap(),
            batched: BatchedCounter::with_batch(4).unwrap(),
            limited: BatchedCounter::with_batch(8).unwrap(),
            steps: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            level: AtomicI64::new(0),
            admitted: AtomicI64::new(0),
        }
    }

    fn step(&self) {
        let random = churn::random();
        let value = (random >> 8) as i64 % 20 - 9;
        self.counter.add(3);
        self.set.get(random as usize % 3).unwrap().inc();
        self.gauge.add(value);
        self.batched.add(value);
        if random % 5 == 0 {
            self.taken.fetch_add(self.counter.take(), Ordering::Relaxed);
        }
        if self.limited.limited_add(random >> 8 & 7, LIMIT).is_ok() {
            self.admitted.fetch_add((random >> 8 & 7) as i64, Ordering::Relaxed);
        }
        assert!(self.limited.sum() <= LIMIT, "the limit was passed");
        self.level.fetch_add(value, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn check(&self, what: &str) {
        let steps = self.steps.load(Ordering::Relaxed);
        let level = self.level.load(Ordering::Relaxed);
        let taken = self.taken.load(Ordering::Relaxed);
        assert_eq!(taken + self.counter.sum(), 3 * steps, "{what}");
        assert_eq!(self.set.sums().iter().sum::<u64>(), steps, "{what}");
        assert_eq!((self.gauge.sum(), self.batched.sum()), (level, level), "{what}");
        let off = self.batched.read().abs_diff(level);
        assert!(off <= self.batched.error_bound(), "{what}: the root is off by {off}");
        let admitted = self.admitted.load(Ordering::Relaxed);
        assert_eq!(self.limited.sum(), admitted, "{what}");
        while self.limited.limited_add(1, LIMIT).is_ok() {}
        assert_eq!(self.limited.sum(), LIMIT, "{what}: room that nobody finds");
    }
}

#[test]
fn counters_that_are_cut_off_at_any_point_are_exact() {
    let _ = (Entries::new(), sections());
    let mut aborts = [0; Points::COUNT];
    for (point, aborts) in aborts.iter_mut().enumerate() {
        let before = churn::counts();
        let mut turns = [0; Points::COUNT];
        turns[point] = 5_000;
        let work = Work::new();
        let plan = Plan { threads: 6, steps: 1_500, unregistered: 1, turns, ..Plan::default() };
        disturbed(plan, &|| work.step());
        work.check(&format!("held up at point {point}"));
        *aborts = churn::counts().0 - before.0;
    }
    eprintln!("cut off while held up at points 0 to 8: {aborts:?}");
    if sections().is_some() {
        // Points that counters pass: before the id is read, before the load, before the commit.
        assert!(aborts[1].min(aborts[3]).min(aborts[7]) > 20, "{aborts:?}");
    }
}
