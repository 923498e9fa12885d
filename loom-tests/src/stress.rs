//! The harness without loom: the same models on real threads, many times.

use std::sync::atomic::{AtomicBool, Ordering};

pub use std::sync::Arc;
pub use std::sync::atomic::{AtomicU64, AtomicUsize, fence};
pub use std::thread;

/// Whether models are explored (or only run many times).
pub const EXPLORES: bool = false;

/// Runs `f` `CORELOCAL_STRESS_ROUNDS` times (1000 if unset); `bound` is loom's.
///
/// # Panics
///
/// When a run of `f` panics, or the variable is not a number.
pub fn model(name: &str, _bound: usize, f: impl Fn() + Send + Sync + 'static) {
    let rounds = std::env::var("CORELOCAL_STRESS_ROUNDS").map_or(1000, |rounds| {
        rounds.parse().expect("CORELOCAL_STRESS_ROUNDS is a number of rounds")
    });
    (0..rounds).for_each(|_| f());
    println!("{name}: {rounds} rounds on real threads (not explored: see loom-tests/README.md)");
}

/// As [`model`]; `bounds` are loom's.
///
/// # Panics
///
/// As [`model`].
pub fn large_model(name: &str, bounds: [usize; 2], f: impl Fn() + Send + Sync + 'static) {
    model(name, bounds[0], f);
}

/// Under loom: uses the bytes of `copy` as their only owner. Here the values tell.
pub fn touch<T>(_copy: &T) {}

/// Under loom: ends a run, and demands that nothing is mapped.
pub fn finish() {}

/// Runs `f`; which CPUs the threads are on is the machine's business.
pub fn on_cpus<const N: usize>(_cpus: [Option<u32>; N], f: impl FnOnce()) {
    f();
}

/// Runs `f`, as [`on_cpus`].
pub fn on_changing_cpus(_cpu: impl Fn(usize, usize) -> Option<u32>, f: impl FnOnce()) {
    f();
}

/// Something that one thread at a time may own. Here it notices two owners at the
/// same moment; only under loom also a missing edge between one and the next.
#[derive(Debug, Default)]
pub struct Canary(AtomicBool);

impl Canary {
    /// Uses the thing as its only owner.
    ///
    /// # Panics
    ///
    /// When somebody else is using it.
    #[track_caller]
    pub fn touch(&self) {
        // Relaxed: an edge here would hide that the code under test has none.
        assert!(!self.0.swap(true, Ordering::Relaxed), "two owners at once");
        std::hint::spin_loop();
        self.0.store(false, Ordering::Relaxed);
    }

    /// Uses the thing beside others who look.
    ///
    /// # Panics
    ///
    /// When somebody owns it.
    #[track_caller]
    pub fn look(&self) {
        // Relaxed: as in `touch`.
        assert!(!self.0.load(Ordering::Relaxed), "looked at under its owner's hands");
    }
}
