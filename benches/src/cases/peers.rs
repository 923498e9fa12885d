//! Counters that a user would pick instead, behind one trait: every peer runs the same loop.

use crate::machine::{forget, sched_getcpu};
use contatori::counters::unsigned::Unsigned;
use contatori::counters::{CounterValue, Observable};
use corelocal::{CpuId, PerCpu, PerCpuCell, per_cpu};
use crossbeam_utils::CachePadded;
use fast_counter::ConcurrentCounter;
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use thread_local::ThreadLocal;

/// Counters that are used in turn, so that the next add need not wait for the last one's store.
pub(super) const COUNTERS: usize = 16;

/// [`COUNTERS`] counters of one kind.
pub(super) trait Counters: Send + Sync + Sized + 'static {
    const NAME: &'static str;

    fn new() -> Self;
    fn add(&self, which: usize);
    /// The sum over all threads; of this one, where others cannot be reached.
    fn sum(&self, which: usize) -> u64;

    /// `ops` adds to counter 0, or to all in turn (`mask` is then `COUNTERS - 1`).
    fn run(&self, ops: u64, mask: usize) {
        for op in 0..ops {
            forget();
            self.add(op as usize & mask);
        }
    }
}

fn many<T>(make: impl Fn() -> T) -> [T; COUNTERS] {
    std::array::from_fn(|_| make())
}

/// The lanes that people allocate by hand: one for each CPU that they know of.
pub(super) fn cpus() -> usize {
    PerCpu::<u8>::zeroed().cpus()
}

pub(super) struct Ours([PerCpu<PerCpuCell<u64>>; COUNTERS]);

impl Counters for Ours {
    const NAME: &'static str = "PerCpu";

    fn new() -> Self {
        Self(many(PerCpu::zeroed))
    }

    #[inline]
    fn add(&self, which: usize) {
        self.0[which].add(1);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].sum()
    }
}

per_cpu! { static STATIC: [PerCpuCell<u64>; COUNTERS]; }

pub(super) struct Static;

impl Counters for Static {
    const NAME: &'static str = "per_cpu! static";

    fn new() -> Self {
        Self
    }

    #[inline]
    fn add(&self, which: usize) {
        if let Some(counter) = STATIC.as_ref().index(which) {
            counter.add(1);
        }
    }

    fn sum(&self, which: usize) -> u64 {
        STATIC.as_ref().index(which).map_or(0, |counter| counter.sum())
    }
}

pub(super) struct Shared([CachePadded<AtomicU64>; COUNTERS]);

impl Counters for Shared {
    const NAME: &'static str = "shared AtomicU64";

    fn new() -> Self {
        Self(many(Default::default))
    }

    #[inline]
    fn add(&self, which: usize) {
        // Relaxed: a count orders nothing, here and below.
        self.0[which].fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].load(Ordering::Relaxed)
    }
}

pub(super) struct Padded([Vec<CachePadded<AtomicU64>>; COUNTERS]);

impl Counters for Padded {
    const NAME: &'static str = "CachePadded[sched_getcpu]";

    fn new() -> Self {
        Self(many(|| (0..cpus()).map(|_| CachePadded::default()).collect()))
    }

    #[inline]
    fn add(&self, which: usize) {
        self.0[which][sched_getcpu()].fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].iter().map(|lane| lane.load(Ordering::Relaxed)).sum()
    }
}

/// The same with our way of knowing the CPU: the rest of the difference is the layout's.
pub(super) struct PaddedByOurId(Padded);

impl Counters for PaddedByOurId {
    const NAME: &'static str = "CachePadded[CpuId::current]";

    fn new() -> Self {
        Self(Padded::new())
    }

    #[inline]
    fn add(&self, which: usize) {
        let cpu = CpuId::current().map_or(0, CpuId::index);
        self.0.0[which][cpu].fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0.sum(which)
    }
}

#[allow(deprecated, reason = "the crate deprecates itself; it is measured all the same")]
pub(super) struct OldPadded([Vec<cache_padded::CachePadded<AtomicU64>>; COUNTERS]);

#[allow(deprecated, reason = "as above")]
impl Counters for OldPadded {
    const NAME: &'static str = "cache-padded[sched_getcpu]";

    fn new() -> Self {
        Self(many(|| (0..cpus()).map(|_| cache_padded::CachePadded::default()).collect()))
    }

    #[inline]
    fn add(&self, which: usize) {
        self.0[which][sched_getcpu()].fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].iter().map(|lane| lane.load(Ordering::Relaxed)).sum()
    }
}

/// Atomics, since others read them; a thread's own update needs no locked instruction.
pub(super) struct PerThread([ThreadLocal<AtomicU64>; COUNTERS]);

impl Counters for PerThread {
    const NAME: &'static str = "ThreadLocal";

    fn new() -> Self {
        Self(many(ThreadLocal::new))
    }

    #[inline]
    fn add(&self, which: usize) {
        let counter = self.0[which].get_or_default();
        // Relaxed: as above; only this thread stores here, so a load and a store do.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].iter().map(|counter| counter.load(Ordering::Relaxed)).sum()
    }
}

thread_local! {
    static CELLS: [Cell<u64>; COUNTERS] = const { [const { Cell::new(0) }; COUNTERS] };
}

/// The floor: known at compile time, out of everybody else's reach.
pub(super) struct StdThreadLocal;

impl Counters for StdThreadLocal {
    const NAME: &'static str = "std thread_local Cell";

    fn new() -> Self {
        // Somebody might look: without this the compiler may keep the cells in registers.
        black_box(CELLS.with(|cells| cells.as_ptr()));
        Self
    }

    #[inline]
    fn add(&self, which: usize) {
        CELLS.with(|cells| cells[which].set(cells[which].get() + 1));
    }

    fn sum(&self, which: usize) -> u64 {
        CELLS.with(|cells| cells[which].get())
    }
}

pub(super) struct Contatori(Box<[Unsigned; COUNTERS]>);

impl Counters for Contatori {
    const NAME: &'static str = "contatori";

    fn new() -> Self {
        Self(Box::new(many(Unsigned::new)))
    }

    #[inline]
    fn add(&self, which: usize) {
        self.0[which].add(1);
    }

    fn sum(&self, which: usize) -> u64 {
        match self.0[which].value() {
            CounterValue::Unsigned(sum) => sum,
            other => unreachable!("an unsigned counter's value is {other:?}"),
        }
    }
}

pub(super) struct FastCounter([ConcurrentCounter; COUNTERS]);

impl Counters for FastCounter {
    const NAME: &'static str = "fast-counter";

    fn new() -> Self {
        Self(many(|| ConcurrentCounter::new(cpus())))
    }

    #[inline]
    fn add(&self, which: usize) {
        self.0[which].add(1);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0[which].sum() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer whose loop the compiler shortened would lose here too, if it lost the sum.
    fn counts_exactly<C: Counters>() {
        let counters = C::new();
        let before: Vec<u64> = (0..COUNTERS).map(|which| counters.sum(which)).collect();
        counters.run(1000, 0);
        counters.run(160, COUNTERS - 1);
        for (which, before) in before.into_iter().enumerate() {
            let expected = 10 + if which == 0 { 1000 } else { 0 };
            assert_eq!(counters.sum(which) - before, expected, "{} {which}", C::NAME);
        }
    }

    #[test]
    fn every_peer_counts_every_add() {
        counts_exactly::<Ours>();
        counts_exactly::<Static>();
        counts_exactly::<Shared>();
        counts_exactly::<Padded>();
        counts_exactly::<PaddedByOurId>();
        counts_exactly::<OldPadded>();
        counts_exactly::<PerThread>();
        counts_exactly::<StdThreadLocal>();
        counts_exactly::<Contatori>();
        counts_exactly::<FastCounter>();
    }
}
