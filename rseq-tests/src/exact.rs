//! One sum, by threads that are disturbed in every way there is: through the crate's own
//! [`PerCpu`], whose end state is known to the unit.
//!
//! | threads | what is special about them |
//! |---|---|
//! | 5 of 8 | registered; sections |
//! | 2 of 8 | their registration is taken away first: the kernel writes -1 into the id word, and never again |
//! | 1 of 8 | asks a made-up source, which does not tell the CPU |
//! | 1 more | each of its sections is cut off: it waits before the commit for longer than the time between two signals, so each of its adds takes 64 attempts and ends on the spill lane |
//!
//! The eight are moved and interrupted all the time, and the signal's handler adds too. The
//! ninth adds until the eight are done; what it added is counted.

use crate::churn;
use crate::run::mover;
use corelocal::sys::rseq::{Points, detours, hold, thread_area};
use corelocal::testing::{self, Config};
use corelocal::{Backend, CpuId, PerCpu, PerCpuCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The threads that add a fixed number of times.
pub const THREADS: usize = 8;
const UNREGISTERED: [usize; 2] = [1, 4];
const NOT_TOLD: usize = 6;

/// What one run found.
#[derive(Debug)]
pub struct Found {
    /// The sum over all lanes.
    pub sum: u64,
    /// What it has to be.
    pub expected: u64,
    /// Adds of the thread that was always cut off; part of `expected`.
    pub cut_off: u64,
    /// Adds of signal handlers; part of `expected`.
    pub handled: u64,
    /// Sections that were cut off.
    pub aborts: usize,
    /// Adds on the spill lane, by the crate's count.
    pub spills: usize,
    /// What is in the spill lane.
    pub in_spill_lane: u64,
    /// How long the run took.
    pub took: Duration,
    /// What did not happen that should have.
    pub missing: Vec<&'static str>,
}

impl Found {
    /// Nothing is lost, nothing is twice, and everything was provoked.
    pub fn is_good(&self) -> bool {
        self.sum == self.expected && self.missing.is_empty()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} ({} by handlers, {} by the thread that is always cut off), {} aborts, \
             {} spills, {:.2} s",
            self.sum,
            self.expected,
            self.handled,
            self.cut_off,
            self.aborts,
            self.spills,
            self.took.as_secs_f64()
        )?;
        self.missing.iter().try_for_each(|what| write!(f, "; MISSING: {what}"))
    }
}

/// What the threads share.
struct Run {
    sum: PerCpu<PerCpuCell<u64>>,
    adds: u64,
    handled: AtomicU64,
    cut_off: AtomicU64,
    ids: [AtomicI32; THREADS + 1],
    over: AtomicBool,
    still_told: AtomicBool,
}

/// Eight threads add `adds` times each.
///
/// # Panics
///
/// If a thread panics.
pub fn run(adds: u64) -> Found {
    let before = detours();
    let run = Run {
        sum: PerCpu::zeroed(),
        adds,
        handled: AtomicU64::new(0),
        cut_off: AtomicU64::new(0),
        ids: Default::default(),
        over: AtomicBool::new(false),
        still_told: AtomicBool::new(false),
    };
    let since = Instant::now();
    std::thread::scope(|scope| {
        let shared = &run;
        let eight: Vec<_> =
            (0..THREADS).map(|number| scope.spawn(move || shared.worker(number))).collect();
        let ninth = scope.spawn(|| shared.always_cut_off());
        let mover = scope.spawn(|| mover(150, &shared.ids, &shared.over));
        let results: Vec<_> = eight.into_iter().map(|thread| thread.join()).collect();
        // Relaxed: a sign to stop.
        run.over.store(true, Ordering::Relaxed);
        ninth.join().unwrap();
        mover.join().unwrap();
        results.into_iter().for_each(|result| result.unwrap());
    });
    run.found(since.elapsed(), before)
}

impl Run {
    fn worker(&self, number: usize) {
        if UNREGISTERED.contains(&number) && churn::unregister() && CpuId::current().is_some() {
            // The kernel took the registration, and yet something tells the CPU.
            self.still_told.store(true, Ordering::Relaxed);
        }
        // Relaxed: the mover takes it or leaves it.
        self.ids[number].store(churn::thread_id(), Ordering::Relaxed);
        let add_in_handler = || {
            self.sum.add(1);
            // Relaxed: read after the threads have ended.
            self.handled.fetch_add(1, Ordering::Relaxed);
        };
        churn::interrupted(211, &add_in_handler, || {
            let adds = || (0..self.adds).for_each(|_| self.sum.add(1));
            if number == NOT_TOLD {
                testing::with(Config::new().cpu_id(None), adds);
            } else {
                adds();
            }
        });
    }

    /// A handler of its own adds would wait as long as this thread does: it has none.
    fn always_cut_off(&self) {
        let mut turns = [0; Points::COUNT];
        turns[7] = 3_000_000;
        // Relaxed, all: as in `worker`.
        self.ids[THREADS].store(churn::thread_id(), Ordering::Relaxed);
        churn::interrupted(20, &|| (), || {
            hold(turns, || {
                while !self.over.load(Ordering::Relaxed) {
                    self.sum.add(1);
                    self.cut_off.fetch_add(1, Ordering::Relaxed);
                }
            });
        });
    }

    fn found(&self, took: Duration, before: corelocal::sys::rseq::Detours) -> Found {
        let after = detours();
        // Relaxed, both: the threads have ended.
        let handled = self.handled.load(Ordering::Relaxed);
        let cut_off = self.cut_off.load(Ordering::Relaxed);
        let mut found = Found {
            sum: self.sum.sum(),
            expected: THREADS as u64 * self.adds + handled + cut_off,
            cut_off,
            handled,
            aborts: after.aborts.wrapping_sub(before.aborts),
            spills: after.spills.wrapping_sub(before.spills),
            in_spill_lane: self.sum.spill().load(),
            took,
            missing: Vec::new(),
        };
        if corelocal::backend() == Backend::Rseq {
            self.missing(&mut found);
        }
        found
    }

    /// With sections: three of the eight, and the ninth, are on the spill lane.
    fn missing(&self, found: &mut Found) {
        let mut want = |is: bool, what| {
            if !is {
                found.missing.push(what);
            }
        };
        want(found.cut_off > 0, "the thread that is cut off did not get through");
        want(found.aborts as u64 >= 63 * found.cut_off, "sections were not cut off");
        want(
            found.in_spill_lane >= 3 * self.adds + found.cut_off,
            "the spill lane has less than the threads without a CPU added",
        );
        want(found.in_spill_lane == found.spills as u64, "spills were not counted right");
        want(!self.still_told.load(Ordering::Relaxed), "a thread without a registration has an id");
        want(thread_area().is_some(), "there is no area");
    }
}
