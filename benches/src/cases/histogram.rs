//! `histogram`: a latency is recorded, from one thread and from more; and into 64
//! histograms that no near cache holds.
//!
//! One value again and again shows how long a record waits for the last one's store; a mixture of
//! latencies shows what a record costs, which is the fairer figure. All have about the same
//! precision, 12.5 or 6 % (`Fixed` and prometheus-client: 12 bounds that people choose for latencies).
//!
//! Ours is a section where the header says `rseq`: no locked instruction. The peers that everybody
//! can read while they are recorded into lock a mutex, or use locked instructions; the histogram in a
//! thread-local is read by nobody else, and is the floor.
//!
//! prometheus-client's mutex yields the CPU before it waits. Where others want that CPU, this counts
//! as preemption, and the piece is rejected: on a busy machine its figure from two threads is that of
//! pieces in which the threads did not meet.

use crate::machine::{forget, sched_getcpu};
use crate::threads::{self, Op, on_many};
use crate::{Case, cold};
use ::histogram::AtomicHistogram;
use corelocal::histogram::{Buckets, Fixed, LogLinear, WithSum};
use corelocal::{PerCpu, PerCpuHistogram, StaticHistogram};
use crossbeam_utils::CachePadded;
use hdrhistogram::Histogram as Hdr;
use prometheus_client::metrics::histogram::Histogram as Prometheus;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use thread_local::ThreadLocal;

pub(super) const BASELINE: &str = Shared::NAME;

/// As many buckets as a `u64` has with 8 a power of two.
const ALL: usize = LogLinear::<3>::MOST;

/// Nanoseconds.
const BOUNDS: [u64; 12] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    10_000_000,
];

/// A histogram of one kind.
trait Record: Send + Sync + Sized + 'static {
    const NAME: &'static str;

    fn new() -> Self;
    fn record(&self, value: u64);
    /// How many values it has; of this thread, where others cannot be reached.
    #[cfg_attr(not(test), allow(dead_code, reason = "asked for by the tests"))]
    fn count(&self) -> u64;

    fn run(&self, ops: u64, values: &[u64; 1024]) {
        for op in 0..ops {
            forget();
            self.record(values[op as usize % values.len()]);
        }
    }
}

/// Latencies of about 10 us, from 20 ns to 5 ms, in an order that repeats after 1024 of them.
fn mixture() -> [u64; 1024] {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // A sum of uniform sizes: few are very short or very long.
        let size = (state & 7) + (state >> 8 & 7) + (state >> 16 & 3);
        (16 + (state >> 32 & 15)) << size
    })
}

macro_rules! ours {
    ($name:ident, $shown:literal, [$n:expr, $buckets:ty], $value:expr) => {
        struct $name(PerCpuHistogram<{ $n }, $buckets>);

        impl Record for $name {
            const NAME: &'static str = $shown;

            fn new() -> Self {
                Self(PerCpuHistogram::new($value))
            }

            #[inline]
            fn record(&self, value: u64) {
                self.0.record(value);
            }

            fn count(&self) -> u64 {
                self.0.snapshot().count()
            }
        }
    };
}

ours!(Ours, "PerCpuHistogram", [ALL, LogLinear<3>], LogLinear);
ours!(OursSum, "PerCpuHistogram WithSum", [ALL, WithSum<LogLinear<3>>], WithSum(LogLinear));
ours!(OursFixed, "PerCpuHistogram Fixed", [13, Fixed<13>], Fixed::new(&BOUNDS));

static STATIC: StaticHistogram<ALL> = StaticHistogram::new(LogLinear);

struct Static;

impl Record for Static {
    const NAME: &'static str = "StaticHistogram";

    fn new() -> Self {
        Self
    }

    #[inline]
    fn record(&self, value: u64) {
        STATIC.record(value);
    }

    fn count(&self) -> u64 {
        STATIC.snapshot().count()
    }
}

/// The same buckets, shared by all.
struct Shared(Box<[AtomicU64]>);

impl Record for Shared {
    const NAME: &'static str = "shared AtomicU64 array";

    fn new() -> Self {
        Self((0..ALL).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    fn record(&self, value: u64) {
        let index = Buckets::<ALL>::index(&LogLinear::<3>, value);
        // Relaxed: a count orders nothing.
        self.0[index].fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

/// The same, one for each CPU: what people write by hand.
struct ByHand(Vec<CachePadded<Shared>>);

impl Record for ByHand {
    const NAME: &'static str = "AtomicU64 array[sched_getcpu]";

    fn new() -> Self {
        let cpus = PerCpu::<u8>::zeroed().cpus();
        Self((0..cpus).map(|_| CachePadded::new(Shared::new())).collect())
    }

    #[inline]
    fn record(&self, value: u64) {
        self.0[sched_getcpu()].record(value);
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|one| one.count()).sum()
    }
}

/// The crate `histogram`: the same buckets, shared atomics.
struct H2(AtomicHistogram);

impl Record for H2 {
    const NAME: &'static str = "histogram::AtomicHistogram";

    fn new() -> Self {
        Self(AtomicHistogram::new(3, 64).expect("8 buckets a power of two, for all of u64"))
    }

    #[inline]
    fn record(&self, value: u64) {
        let _ = self.0.increment(value);
    }

    fn count(&self) -> u64 {
        self.0.load().into_iter().map(|bucket| bucket.count()).sum()
    }
}

fn hdr() -> Hdr<u64> {
    Hdr::new_with_bounds(1, u64::MAX >> 1, 1).expect("one significant digit")
}

struct LockedHdr(Mutex<Hdr<u64>>);

impl Record for LockedHdr {
    const NAME: &'static str = "Mutex<hdrhistogram>";

    fn new() -> Self {
        Self(Mutex::new(hdr()))
    }

    #[inline]
    fn record(&self, value: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(value);
    }

    fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// A histogram a thread, that the others could lock to read it.
struct ThreadsHdr(ThreadLocal<Mutex<Hdr<u64>>>);

impl Record for ThreadsHdr {
    const NAME: &'static str = "ThreadLocal<Mutex<hdrhistogram>>";

    fn new() -> Self {
        Self(ThreadLocal::new())
    }

    #[inline]
    fn record(&self, value: u64) {
        let own = self.0.get_or(|| Mutex::new(hdr()));
        own.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(value);
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|one| one.lock().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }
}

thread_local! { static HDR: RefCell<Hdr<u64>> = RefCell::new(hdr()); }

/// The floor: out of everybody else's reach.
struct StdThreadLocal;

impl Record for StdThreadLocal {
    const NAME: &'static str = "std thread_local hdrhistogram";

    fn new() -> Self {
        HDR.with_borrow_mut(Hdr::reset);
        Self
    }

    #[inline]
    fn record(&self, value: u64) {
        HDR.with_borrow_mut(|own| own.saturating_record(value));
    }

    fn count(&self) -> u64 {
        HDR.with_borrow(Hdr::len)
    }
}

struct PrometheusClient(Prometheus);

impl Record for PrometheusClient {
    const NAME: &'static str = "prometheus-client";

    fn new() -> Self {
        Self(Prometheus::new(BOUNDS.map(|bound| bound as f64)))
    }

    #[inline]
    fn record(&self, value: u64) {
        self.0.observe(value as f64);
    }

    fn count(&self) -> u64 {
        use prometheus_client::encoding::text;
        use prometheus_client::registry::Registry;
        let (mut registry, mut page) = (Registry::default(), String::new());
        registry.register("latency", "of a record", self.0.clone());
        text::encode(&mut page, &registry).expect("a string takes everything");
        let line = page.lines().find_map(|line| line.strip_prefix("latency_count "));
        line.and_then(|count| count.parse().ok()).expect("a count")
    }
}

#[derive(Clone, Copy)]
struct Scene {
    mixed: bool,
    threads: usize,
}

impl Scene {
    fn name(self) -> String {
        let values = if self.mixed { "a mixture" } else { "one value" };
        format!("{values}, {}", threads::label(self.threads))
    }

    fn case<R: Record>(self, peer: &'static str) -> Case {
        Case::new(self.name(), peer, move || {
            let (histogram, values) =
                (R::new(), if self.mixed { mixture() } else { [10_000; 1024] });
            let op: Op = Arc::new(move |ops| histogram.run(ops, &values));
            Box::new(move |ops| on_many(self.threads, &op, ops))
        })
    }

    fn cases(self) -> Vec<Case> {
        vec![
            self.case::<Ours>(Ours::NAME),
            self.case::<Ours>("PerCpuHistogram again"),
            self.case::<OursSum>(OursSum::NAME),
            self.case::<OursFixed>(OursFixed::NAME),
            self.case::<Static>(Static::NAME),
            self.case::<Shared>(Shared::NAME),
            self.case::<ByHand>(ByHand::NAME),
            self.case::<H2>(H2::NAME),
            self.case::<LockedHdr>(LockedHdr::NAME),
            self.case::<ThreadsHdr>(ThreadsHdr::NAME),
            self.case::<StdThreadLocal>(StdThreadLocal::NAME),
            self.case::<PrometheusClient>(PrometheusClient::NAME),
        ]
    }
}

pub(super) fn cases() -> Vec<Case> {
    let counts = threads::counts().into_iter();
    let scenes = counts.flat_map(|threads| [false, true].map(|mixed| Scene { mixed, threads }));
    scenes.flat_map(Scene::cases).chain(swept()).collect()
}

/// Records into each of so many histograms, between which are those into the others.
const EACH: usize = 4;

fn one_swept<R: Record>(peer: &'static str) -> Case {
    let scene = format!("{} histograms, {}", cold::PASS / EACH, cold::NAME);
    let make = || (R::new(), mixture());
    cold::case(scene, peer, EACH, make, |(histogram, values): &(R, [u64; 1024]), part| {
        histogram.record(values[part]);
    })
}

/// Without those of which there is one in the program.
fn swept() -> [Case; 10] {
    [
        one_swept::<Ours>(Ours::NAME),
        one_swept::<Ours>("PerCpuHistogram again"),
        one_swept::<OursSum>(OursSum::NAME),
        one_swept::<OursFixed>(OursFixed::NAME),
        one_swept::<Shared>(Shared::NAME),
        one_swept::<ByHand>(ByHand::NAME),
        one_swept::<H2>(H2::NAME),
        one_swept::<LockedHdr>(LockedHdr::NAME),
        one_swept::<ThreadsHdr>(ThreadsHdr::NAME),
        one_swept::<PrometheusClient>(PrometheusClient::NAME),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_exactly<R: Record>() {
        let (histogram, values) = (R::new(), mixture());
        let before = histogram.count();
        histogram.run(1500, &values);
        assert_eq!(histogram.count() - before, 1500, "{}", R::NAME);
    }

    #[test]
    fn every_peer_records_every_value() {
        counts_exactly::<Ours>();
        counts_exactly::<OursSum>();
        counts_exactly::<OursFixed>();
        counts_exactly::<Static>();
        counts_exactly::<Shared>();
        counts_exactly::<ByHand>();
        counts_exactly::<H2>();
        counts_exactly::<LockedHdr>();
        counts_exactly::<ThreadsHdr>();
        counts_exactly::<StdThreadLocal>();
        counts_exactly::<PrometheusClient>();
    }

    /// What the documentation says: the buckets are those of H2 and of HdrHistogram.
    #[test]
    fn our_buckets_are_those_of_the_peers() {
        fn check<const BITS: u32, const N: usize>(digits: u8) {
            let theirs = Hdr::<u64>::new_with_bounds(1, u64::MAX >> 1, digits).unwrap();
            let h2 = ::histogram::Config::new(BITS as u8, 64).unwrap();
            let mut value = 1_u64;
            while value < u64::MAX >> 2 {
                let index = Buckets::<N>::index(&LogLinear::<BITS>, value);
                let range = Buckets::<N>::range(&LogLinear::<BITS>, index).unwrap();
                assert_eq!(theirs.lowest_equivalent(value), *range.start(), "{value}");
                assert_eq!(theirs.highest_equivalent(value), *range.end(), "{value}");
                assert_eq!(h2.total_buckets(), N);
                value += value / 37 + 1;
            }
        }
        check::<4, 976>(1);
        check::<7, 7424>(2);
    }
}
