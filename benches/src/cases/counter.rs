//! `counter`: the crate's counters beside those that a user would pick instead: adds from one thread
//! and from more, adds to and reads of counters that no near cache holds, and reads
//! while nobody adds and while another thread does nothing else.
//!
//! What a thread keeps to itself (`std thread_local Cell`) is the floor of an add, and cannot be
//! read by others: it is not among the reads.

use super::Goal;
use super::peers::{
    COUNTERS, Contatori, Counters, FastCounter, Ours, Padded, PerThread, Shared, StdThreadLocal,
};
use crate::threads::{self, Op, on_many, on_two};
use crate::{Case, Sample, cold};
use corelocal::{BatchedCounter, CounterSet, PerCpuCounter, StaticCounter};
use crossbeam_utils::CachePadded;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;

pub(super) const BASELINE: &str = "PerCpuCell";
const AGAIN: &str = "PerCpuCounter again";

struct Counter([PerCpuCounter; COUNTERS]);

impl Counters for Counter {
    const NAME: &'static str = "PerCpuCounter";

    fn new() -> Self {
        Self(std::array::from_fn(|_| PerCpuCounter::new()))
    }

    #[inline]
    fn add(&self, which: usize) {
        self.0[which].add(1);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].sum()
    }
}

static STATICS: [StaticCounter; COUNTERS] = [const { StaticCounter::new() }; COUNTERS];

struct Statics;

impl Counters for Statics {
    const NAME: &'static str = "StaticCounter";

    fn new() -> Self {
        Self
    }

    #[inline]
    fn add(&self, which: usize) {
        STATICS[which].add(1);
    }

    fn sum(&self, which: usize) -> u64 {
        STATICS[which].sum()
    }
}

/// Looked up by index each time.
struct Set(CounterSet);

impl Counters for Set {
    const NAME: &'static str = "CounterSet[i]";

    fn new() -> Self {
        Self(CounterSet::try_new(COUNTERS).expect("memory for a set"))
    }

    #[inline]
    fn add(&self, which: usize) {
        if let Some(counter) = self.0.get(which) {
            counter.add(1);
        }
    }

    fn sum(&self, which: usize) -> u64 {
        self.0.get(which).map_or(0, |counter| counter.sum())
    }
}

struct Batched([BatchedCounter; COUNTERS]);

impl Counters for Batched {
    const NAME: &'static str = "BatchedCounter";

    fn new() -> Self {
        Self(std::array::from_fn(|_| BatchedCounter::new()))
    }

    #[inline]
    fn add(&self, which: usize) {
        self.0[which].add(1);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].sum() as u64
    }
}

/// Read at the root, in one load.
struct Root(Batched);

impl Counters for Root {
    const NAME: &'static str = "BatchedCounter::read";

    fn new() -> Self {
        Self(Batched::new())
    }

    #[inline]
    fn add(&self, which: usize) {
        self.0.add(which);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0.0[which].read() as u64
    }
}

/// With a limit that is far away.
struct Limited(Batched);

impl Counters for Limited {
    const NAME: &'static str = "BatchedCounter::limited_add";

    fn new() -> Self {
        Self(Batched::new())
    }

    #[inline]
    fn add(&self, which: usize) {
        black_box(self.0.0[which].limited_add(1, i64::MAX).is_ok());
    }

    fn sum(&self, which: usize) -> u64 {
        self.0.sum(which)
    }
}

/// What keeps a limit otherwise.
struct SharedLimited([CachePadded<AtomicI64>; COUNTERS]);

impl Counters for SharedLimited {
    const NAME: &'static str = "shared AtomicI64 with a limit";

    fn new() -> Self {
        Self(std::array::from_fn(|_| CachePadded::default()))
    }

    #[inline]
    fn add(&self, which: usize) {
        let more = |old: i64| old.checked_add(1).filter(|new| *new < black_box(i64::MAX));
        // Relaxed: a count orders nothing.
        let added = self.0[which].fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        black_box(added.is_ok());
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].load(Ordering::Relaxed) as u64
    }
}

fn add_scene(mask: usize, threads: usize) -> String {
    let counters = if mask == 0 { "1 counter" } else { "16 counters in turn" };
    format!("add, {counters}, {}", threads::label(threads))
}

fn add<C: Counters>(mask: usize, threads: usize, peer: &'static str) -> Case {
    Case::new(add_scene(mask, threads), peer, move || {
        let counters = C::new();
        let op: Op = Arc::new(move |ops| counters.run(ops, mask));
        Box::new(move |ops| on_many(threads, &op, ops))
    })
}

fn adds(mask: usize, threads: usize) -> Vec<Case> {
    vec![
        add::<Ours>(mask, threads, BASELINE),
        add::<Counter>(mask, threads, Counter::NAME),
        add::<Counter>(mask, threads, AGAIN),
        add::<Statics>(mask, threads, Statics::NAME),
        add::<Set>(mask, threads, Set::NAME),
        add::<Batched>(mask, threads, Batched::NAME),
        add::<Limited>(mask, threads, Limited::NAME),
        add::<SharedLimited>(mask, threads, SharedLimited::NAME),
        add::<Shared>(mask, threads, Shared::NAME),
        add::<Padded>(mask, threads, Padded::NAME),
        add::<Contatori>(mask, threads, Contatori::NAME),
        add::<FastCounter>(mask, threads, FastCounter::NAME),
        add::<PerThread>(mask, threads, PerThread::NAME),
        add::<StdThreadLocal>(mask, threads, StdThreadLocal::NAME),
    ]
}

fn reads<C: Counters>(counters: &C, ops: u64) {
    for _ in 0..ops {
        crate::machine::forget();
        black_box(counters.sum(0));
    }
}

fn read<C: Counters>(peer: &'static str) -> Case {
    Case::new("read, nobody adds", peer, move || {
        let counters = C::new();
        counters.run(1000, 0);
        Box::new(move |ops| Sample::of(ops, || reads(&counters, ops)))
    })
}

fn add_swept<C: Counters>(peer: &'static str) -> Case {
    let scene = format!("add, {} counters, {}", cold::PASS, cold::NAME);
    cold::case(scene, peer, COUNTERS, C::new, C::add)
}

fn read_swept<C: Counters>(peer: &'static str) -> Case {
    let scene = format!("read, {} counters, {}", cold::PASS, cold::NAME);
    cold::case(scene, peer, COUNTERS, C::new, |counters: &C, which| {
        black_box(counters.sum(which));
    })
}

/// One thread reads `ops` times, and the other one adds for as long as that takes.
fn read_while_hot<C: Counters>(peer: &'static str) -> Case {
    Case::new("read, another thread adds", peer, move || {
        let (counters, reader) = (C::new(), thread::current().id());
        let (read, added) = (AtomicU64::new(0), AtomicU64::new(0));
        let op: Op = Arc::new(move |ops| {
            if thread::current().id() == reader {
                reads(&counters, ops);
                // Relaxed, all: the two meet in time.
                read.fetch_add(1, Ordering::Relaxed);
                return;
            }
            while read.load(Ordering::Relaxed) == added.load(Ordering::Relaxed) {
                counters.run(64, 0);
            }
            added.fetch_add(1, Ordering::Relaxed);
        });
        Box::new(move |ops| on_two(&op, ops))
    })
}

macro_rules! reads {
    ($read:ident) => {
        [
            $read::<Ours>(BASELINE),
            $read::<Counter>(Counter::NAME),
            $read::<Counter>(AGAIN),
            $read::<Root>(Root::NAME),
            $read::<Shared>(Shared::NAME),
            $read::<Padded>(Padded::NAME),
            $read::<Contatori>(Contatori::NAME),
            $read::<FastCounter>(FastCounter::NAME),
            $read::<PerThread>(PerThread::NAME),
        ]
    };
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in threads::counts() {
        cases.extend([0, COUNTERS - 1].map(|mask| adds(mask, threads)).into_iter().flatten());
    }
    cases.extend(reads!(read));
    cases.extend(reads!(add_swept));
    cases.extend(reads!(read_swept));
    if threads::two_cpus() {
        cases.extend(reads!(read_while_hot));
    }
    cases
}

/// An add costs what a cell's does, is the fastest of those that can be read by others, and is as fast
/// beside another thread's.
pub(super) fn goals() -> Vec<Goal> {
    let mut goals = Vec::new();
    for mask in [0, COUNTERS - 1] {
        let own = (add_scene(mask, 1), Counter::NAME);
        let beside = |than, most| Goal { own: own.clone(), than: (add_scene(mask, 1), than), most };
        goals.push(beside(BASELINE, 1.05));
        let readable =
            [Shared::NAME, Padded::NAME, Contatori::NAME, FastCounter::NAME, PerThread::NAME];
        goals.extend(readable.map(|than| beside(than, 1.0)));
        if threads::two_cpus() {
            let two = (add_scene(mask, 2), Counter::NAME);
            goals.push(Goal { own: two, than: own.clone(), most: 1.05 });
        }
    }
    goals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts<C: Counters>() {
        let counters = C::new();
        counters.run(1024, 0);
        counters.run(160, COUNTERS - 1);
        let sums = [0, 1].map(|which| counters.sum(which));
        assert!(
            sums[0].abs_diff(1034) <= 48 && sums[1].abs_diff(10) <= 48,
            "{}: {sums:?}",
            C::NAME
        );
    }

    #[test]
    fn every_counter_counts_every_add() {
        counts::<Counter>();
        counts::<Statics>();
        counts::<Set>();
        counts::<Batched>();
        counts::<Root>();
        counts::<Limited>();
        counts::<SharedLimited>();
    }
}
