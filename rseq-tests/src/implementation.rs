//! The implementations that one test body runs over.

use crate::churn;
use corelocal::sys::rseq::{
    Atomic, Contract, Entry, HAS_SECTIONS, Hot, Outcome, Sections, is_trusted, verify,
};
use std::fmt;

/// A way to do the operations.
pub trait Implementation: Copy + Send + Sync + fmt::Debug + 'static {
    /// What one attempt goes through.
    type On: Contract;

    /// An attempt from where the thread is now.
    fn on(self) -> Self::On;

    /// Where operations go that no attempt settles.
    fn spill(self) -> Atomic;
}

/// Bare sections, tried again by the test.
#[derive(Clone, Copy, Debug)]
pub struct Bare(pub Hot);

/// Atomics on the lane that the thread seems to be on.
#[derive(Clone, Copy, Debug)]
pub struct Atomics {
    /// The number of CPU lanes.
    pub cpus: u32,
}

/// The crate's entry points.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    /// The number of CPU lanes.
    pub cpus: u32,
}

impl Implementation for Bare {
    type On = Sections;

    fn on(self) -> Sections {
        Sections::new(self.0)
    }

    fn spill(self) -> Atomic {
        Atomic::on_lane(self.0.limit)
    }
}

impl Implementation for Atomics {
    type On = Atomic;

    fn on(self) -> Atomic {
        Atomic::on_lane(churn::cpu().min(self.cpus))
    }

    fn spill(self) -> Atomic {
        Atomic::on_lane(self.cpus)
    }
}

impl Implementation for Entries {
    type On = Entry<fn() -> u32>;

    fn on(self) -> Self::On {
        Entry(churn::cpus)
    }

    fn spill(self) -> Atomic {
        Atomic::on_lane(self.cpus)
    }
}

impl Entries {
    /// The entry points, with sections from here on if this process can have them.
    pub fn new() -> Self {
        if HAS_SECTIONS && !is_trusted() {
            let _ = verify();
        }
        let backend = corelocal::backend();
        eprintln!("backend: {backend} ({})", backend.reason());
        Self { cpus: churn::cpus() }
    }
}

impl Default for Entries {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls a generic function with each implementation that this process has.
#[macro_export]
macro_rules! over_each {
    ($function:ident) => {{
        if let Some(bare) = $crate::implementation::sections() {
            $function(bare);
        }
        $function($crate::implementation::Atomics { cpus: $crate::churn::cpus() });
        $function($crate::implementation::Entries::new());
    }};
}

/// Sections, if this process can have them.
pub fn sections() -> Option<Bare> {
    let found = Hot::find(churn::cpus()).map(Bare);
    if found.is_none() {
        assert!(!HAS_SECTIONS || std::env::var_os("RSEQ_REQUIRED").is_none(), "no sections here");
        eprintln!("no sections here: libc registers no area, or the target has none");
    }
    found
}

/// Does an operation until it is settled, as the crate's entry points do.
#[macro_export]
macro_rules! settle {
    ($on:expr, $method:ident::<$($g:tt),*>($($operand:expr),* $(,)?)) => {{
        #[allow(unused_imports, reason = "words or anchored")]
        use corelocal::sys::rseq::{Anchored as _, Words as _};
        let on = $on;
        #[allow(clippy::macro_metavars_in_unsafe, reason = "operands are plain values")]
        $crate::implementation::until_settled(
            // SAFETY:
            // - the lanes of the test cover what the implementation acts on.
            || unsafe { on.on().$method::<$crate::lanes::Far, $($g),*>($($operand),*) },
            // SAFETY:
            // - as above.
            || unsafe { on.spill().$method::<$crate::lanes::Far, $($g),*>($($operand),*) },
        )
    }};
}

/// Attempts until one settles the operation; the spill lane without a CPU, or after 64
/// that were cut off.
pub fn until_settled<T>(
    attempt: impl Fn() -> Outcome<T>,
    spill: impl Fn() -> Outcome<T>,
) -> Outcome<T> {
    for _ in 0..64 {
        match attempt() {
            Outcome::Aborted => churn::count_abort(),
            Outcome::Nowhere => break,
            settled => return settled,
        }
    }
    churn::count_spill();
    // In the expected-CPU form `Moved`: the spill lane is no CPU's.
    spill()
}
