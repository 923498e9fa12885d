//! Provoking aborts, and counting them.
//!
//! A kernel that fails to cut sections off (one release did, on AArch64, when a thread was
//! preempted by another of the same CPU) loses updates and says nothing. Here two threads
//! share one CPU and one word; one of them sits in a wide section most of the time, the other
//! wakes up again and again and pushes it off.
#![allow(unsafe_code, reason = "sections on memory of its own")]

use super::super::{cpu_hint, cpus, os};
use super::{HERE, Hot, Outcome, Points, Sections, Stride, Words, fence_all, register, update};
use crate::sync::Ordering;
use crate::sync::plain::{AtomicU32, AtomicUsize};
use core::fmt;
use std::time::{Duration, Instant};

/// What [`verify`] saw.
///
/// ```no_run
/// use corelocal::sys::{Verified, verify};
///
/// let Verified { aborts, commits } = verify()?;
/// println!("{aborts} sections were cut off, and none of {commits} was lost");
/// # Ok::<(), corelocal::sys::Unverified>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verified {
    /// Sections that the kernel cut off.
    pub aborts: u32,
    /// Sections that committed, none of which was lost.
    pub commits: u32,
}

/// Sections do not work here, and must not be used.
///
/// ```no_run
/// use corelocal::sys::{Unverified, verify};
///
/// match verify() {
///     Ok(_) | Err(Unverified::NoSections) => {} // on, or the backend is another one anyway
///     Err(Unverified::NoAbort { .. }) => eprintln!("try again: a busy machine, perhaps"),
///     Err(error) => panic!("this kernel loses updates: {error}"),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unverified {
    /// This process cannot run sections: no registration, or none for this target.
    NoSections,
    /// Of `commits` updates only `found` are there: the kernel let a section go on
    /// after another thread had been on its CPU.
    Lost {
        /// Sections that said that they committed.
        commits: u32,
        /// What is in the lanes.
        found: usize,
    },
    /// Nothing was lost, but nothing was cut off either within two seconds.
    NoAbort {
        /// Sections that committed.
        commits: u32,
    },
    /// The system refused a thread.
    NoThread,
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSections => f.write_str("this process cannot run restartable sequences"),
            Self::Lost { commits, found } => write!(
                f,
                "the kernel did not cut sections off: of {commits} updates {found} are there"
            ),
            Self::NoAbort { commits } => {
                write!(f, "no section was cut off in two seconds ({commits} committed)")
            }
            Self::NoThread => f.write_str("the system refused a thread"),
        }
    }
}

impl core::error::Error for Unverified {}

/// Whether [`verify`] succeeded in this process.
static VERIFIED: AtomicU32 = AtomicU32::new(0);

/// Whether sections may be used without asking: always on x86-64, which no kernel is known to
/// have failed on; on AArch64 once [`verify`] has succeeded.
pub fn is_trusted() -> bool {
    // Relaxed: asked by whoever verified, or by a thread that that one started.
    cfg!(target_arch = "x86_64") || VERIFIED.load(Ordering::Relaxed) == 1
}

/// Aborts to see before the sections are believed.
const ENOUGH: u32 = 8;
/// Turns of the wait inside a section: tens of microseconds.
const TURNS: u32 = 20_000;
const PATIENCE: Duration = Duration::from_secs(2);

/// A line a lane.
struct Line;

impl Stride for Line {
    const BYTES: usize = 64;
}

struct Trial {
    hot: Hot,
    lanes: Vec<AtomicUsize>,
    aborts: AtomicU32,
    commits: AtomicU32,
    since: Instant,
}

/// Runs sections against each other until some were cut off, on two threads of its own.
///
/// On AArch64 a process has sections only if this succeeded before its first object (some kernels
/// do not cut them off); on x86-64 it is a check. Takes some milliseconds as a rule, two seconds at
/// most.
///
/// # Errors
///
/// [`Unverified`] says what is wrong.
///
/// ```no_run
/// use corelocal::{backend, sys::verify};
///
/// // First thing in `main`.
/// if let Err(error) = verify() {
///     eprintln!("without sections: {error}");
/// }
/// println!("{}: {}", backend(), backend().reason());
/// ```
pub fn verify() -> Result<Verified, Unverified> {
    let hot = Hot::load().or_else(|| Hot::find(cpus())).ok_or(Unverified::NoSections)?;
    let words = (hot.limit as usize + 1) * (Line::BYTES / size_of::<usize>());
    let trial = Trial {
        hot,
        lanes: (0..words).map(|_| AtomicUsize::new(0)).collect(),
        aborts: AtomicU32::new(0),
        commits: AtomicU32::new(0),
        since: Instant::now(),
    };
    let cpu = cpu_hint().unwrap_or(0);
    let two = std::thread::scope(|scope| {
        let wide = std::thread::Builder::new().spawn_scoped(scope, || trial.wide(cpu));
        let disturber = std::thread::Builder::new().spawn_scoped(scope, || trial.disturb(cpu));
        wide.is_ok() && disturber.is_ok()
    });
    let verified = trial.judge(two)?;
    // Relaxed: as in `is_trusted`.
    VERIFIED.store(1, Ordering::Relaxed);
    Ok(verified)
}

impl Trial {
    /// One update, with a wait between its load and its commit.
    fn step(&self, turns: u32) {
        let points = Points::default();
        points.set(4, turns);
        let sections = Sections::new(self.hot).held(&points);
        let word = self.lanes.as_ptr().cast_mut().cast::<usize>();
        // SAFETY:
        // - the lanes cover every CPU below the limit, a line each; all are atomics.
        let outcome = unsafe { sections.update::<Line, usize, _, { update::ADD }>(word, 1, HERE) };
        // Relaxed, both: read by others as a sign to stop, and after the threads have ended.
        match outcome {
            Outcome::Committed { .. } => self.commits.fetch_add(1, Ordering::Relaxed),
            Outcome::Aborted => self.aborts.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    fn is_over(&self) -> bool {
        // Relaxed: a sign to stop.
        self.aborts.load(Ordering::Relaxed) >= ENOUGH || self.since.elapsed() > PATIENCE
    }

    fn wide(&self, cpu: u32) {
        register::join();
        let _ = os::pin(cpu);
        while !self.is_over() {
            self.step(TURNS);
        }
    }

    fn disturb(&self, cpu: u32) {
        register::join();
        let pinned = os::pin(cpu);
        while !self.is_over() {
            std::thread::sleep(Duration::from_micros(50));
            self.step(0);
            if !pinned {
                // Perhaps on another CPU: then the barrier is what cuts off.
                let _ = fence_all();
            }
        }
    }

    fn judge(&self, two: bool) -> Result<Verified, Unverified> {
        // Relaxed, all: the threads have ended.
        let aborts = self.aborts.load(Ordering::Relaxed);
        let commits = self.commits.load(Ordering::Relaxed);
        let found = self.lanes.iter().map(|word| word.load(Ordering::Relaxed)).sum();
        if found != commits as usize {
            return Err(Unverified::Lost { commits, found });
        }
        if !two {
            return Err(Unverified::NoThread);
        }
        if aborts == 0 {
            return Err(Unverified::NoAbort { commits });
        }
        Ok(Verified { aborts, commits })
    }
}
