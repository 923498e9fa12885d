//! Places in a section where a test can hold it up.
//!
//! An aborting section is rare: its window is a few cycles. A test that wants aborts
//! at a given step widens it there. The wait is a loop over a private word, since a
//! section may make no system call; the delays, yields, signals and migrations come
//! from outside, while the thread waits.

use crate::sync::Ordering;
use crate::sync::plain::AtomicU32;
use core::mem::offset_of;

/// How long one thread's sections wait at each numbered step.
///
/// | point | where |
/// |---|---|
/// | 0 | before the descriptor is published (outside) |
/// | 1 | before the id is read |
/// | 2 | before the guard is read |
/// | 3 | before the address is made |
/// | 4 | after the first load |
/// | 5, 6 | between further steps, or in a copying loop |
/// | 7 | before the commit |
/// | 8 | after the commit (outside) |
#[repr(C)]
#[derive(Debug, Default)]
pub struct Points {
    left: [AtomicU32; Self::COUNT],
    at: AtomicU32,
}

impl Points {
    /// How many points there are.
    pub const COUNT: usize = 9;
    /// Where the sections say at which point they are.
    #[allow(dead_code, reason = "targets without sections")]
    pub(super) const AT: usize = offset_of!(Self, at);

    /// Turns to wait at `point` the next time that it is reached. A wait that was cut
    /// off leaves the rest: set it again before each attempt.
    pub fn set(&self, point: usize, turns: u32) {
        // Relaxed: read by this thread only, or by one that runs after it.
        self.left[point].store(turns, Ordering::Relaxed);
    }

    /// Turns left at `point`. Another thread may ask.
    #[cfg(feature = "testing")]
    #[allow(dead_code, reason = "targets without sections")]
    pub(super) fn left(&self, point: usize) -> u32 {
        // Relaxed: a hint when to strike.
        self.left[point].load(Ordering::Relaxed)
    }

    /// The point that was reached last. Another thread may ask.
    pub fn at(&self) -> usize {
        // Relaxed: a hint when to strike.
        self.at.load(Ordering::Relaxed) as usize
    }
}

#[cfg(feature = "testing")]
pub use seam::{Disturbance, hold};
#[cfg(feature = "testing")]
#[allow(unused_imports, reason = "targets without sections")]
pub(super) use seam::{Hold, current};
#[cfg(feature = "testing")]
pub(crate) use seam::{Plan, disturbed};
#[cfg(feature = "testing")]
pub(super) use seam::{armed, begin};

/// The way from a test to the sections of the entry points.
#[cfg(feature = "testing")]
mod seam {
    #![allow(unsafe_code, reason = "a borrowed value behind a thread-local")]

    use super::super::super::{MAX_CPUS, machine_hint};
    use super::super::strike;
    use super::Points;
    use crate::sync::Ordering;
    use crate::sync::plain::AtomicU32;
    use std::cell::Cell;
    use std::time::Duration;

    /// What happens to a thread at a point of a section.
    ///
    /// The section makes no system call: at the point it counts a private word down. What
    /// disturbs it comes from outside, from a thread that [`with`](crate::testing::with)
    /// starts for as long as it runs.
    ///
    /// ```
    /// use corelocal::testing::{self, Config, Disturbance};
    /// use corelocal::{PerCpu, PerCpuCell};
    ///
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// for what in [Disturbance::Delay(100), Disturbance::Signal, Disturbance::Migrate] {
    ///     testing::with(Config::new().at(7, what), || hits.add(1));
    /// }
    /// assert_eq!(hits.sum(), 3); // whatever happens before the commit
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Disturbance {
        /// The thread waits for so many turns of a loop, a nanosecond or two each; at most
        /// `i32::MAX`. Does not cut the section off by itself: it widens the window in which
        /// something else can.
        Delay(u32),
        /// The thread gets a signal while it waits. The kernel cuts the section off.
        Signal,
        /// The thread gets a signal whose handler gives the CPU up.
        Yield,
        /// The thread gets a signal whose handler sleeps for so long.
        Sleep(Duration),
        /// The thread is moved to another of the CPUs that it may run on, and gets no signal;
        /// its set of CPUs is afterwards what it was. With one CPU only it waits, and goes on.
        Migrate,
    }

    /// What happens where, and to how many attempts.
    #[derive(Clone, Debug)]
    pub(crate) struct Plan {
        pub(crate) at: [Option<Disturbance>; Points::COUNT],
        /// Attempts of each operation that are disturbed.
        pub(crate) attempts: u32,
    }

    impl Default for Plan {
        fn default() -> Self {
            Self { at: [None; Points::COUNT], attempts: 1 }
        }
    }

    /// A plan in effect on a thread.
    pub(crate) struct Hold {
        plan: Plan,
        pub(crate) points: Points,
        /// Attempts that the present operation has made.
        made: AtomicU32,
        /// Attempts that were made at all; wrapping.
        sequence: AtomicU32,
        /// Where the last one began.
        cpu: AtomicU32,
    }

    /// Turns that no wait gets through before somebody ends it: some seconds.
    const UNTIL_STRUCK: u32 = i32::MAX as u32;

    impl Hold {
        fn new(plan: Plan) -> Self {
            let (points, made, sequence, cpu) = Default::default();
            Self { plan, points, made, sequence, cpu }
        }

        /// What happens at `point` if it wants somebody else to do it.
        pub(crate) fn strike_at(&self, point: usize) -> Option<Disturbance> {
            self.plan.at[point].filter(|what| !matches!(what, Disturbance::Delay(_)))
        }

        /// Which attempt waits to be struck, where and how. Asked by another thread.
        #[allow(dead_code, reason = "targets without sections")]
        pub(crate) fn waiting(&self) -> Option<(u32, usize, Disturbance)> {
            // Relaxed: a hint; a strike that comes too late hits a later attempt.
            let sequence = self.sequence.load(Ordering::Relaxed);
            let point = self.points.at();
            let what = self.strike_at(point)?;
            let waits = (1..UNTIL_STRUCK).contains(&self.points.left(point));
            waits.then_some((sequence, point, what))
        }

        /// Where the attempt that waits began.
        #[allow(dead_code, reason = "targets without sections")]
        pub(crate) fn cpu(&self) -> usize {
            // Relaxed: a hint.
            self.cpu.load(Ordering::Relaxed) as usize
        }

        fn wind_up(&self) {
            for (point, what) in self.plan.at.iter().enumerate() {
                let turns = match what {
                    None => 0,
                    Some(Disturbance::Delay(turns)) => *turns,
                    Some(_) => UNTIL_STRUCK,
                };
                self.points.set(point, turns);
            }
            let cpu = machine_hint().filter(|cpu| *cpu < MAX_CPUS).unwrap_or(0);
            // Relaxed, both: hints.
            self.cpu.store(cpu, Ordering::Relaxed);
            self.sequence.fetch_add(1, Ordering::Relaxed);
        }
    }

    std::thread_local! {
        /// Constant and without a destructor: a signal handler may look.
        static HOLD: Cell<*const Hold> = const { Cell::new(core::ptr::null()) };
    }

    /// Runs `body`; every section that this thread's operations begin in it waits
    /// `turns[k]` turns at point `k`. Nothing else changes, on this or another thread.
    pub fn hold<R>(turns: [u32; Points::COUNT], body: impl FnOnce() -> R) -> R {
        let delay = |turns| Some(Disturbance::Delay(turns));
        disturbed(Plan { at: turns.map(delay), attempts: u32::MAX }, body)
    }

    /// Runs `body` with `plan` in the place of whatever was in effect on this thread.
    ///
    /// # Panics
    ///
    /// If the plan wants another thread's help, and the system refuses the thread or the
    /// signal handler.
    pub(crate) fn disturbed<R>(plan: Plan, body: impl FnOnce() -> R) -> R {
        /// Puts the outer hold back, also when `body` panics.
        struct Back(*const Hold);
        impl Drop for Back {
            fn drop(&mut self) {
                HOLD.set(self.0);
            }
        }
        let hold = Hold::new(plan);
        let is_idle = hold.plan.at.iter().all(Option::is_none);
        let new = if is_idle { core::ptr::null() } else { &raw const hold };
        let body = || {
            let _back = Back(HOLD.replace(new));
            body()
        };
        if (0..Points::COUNT).any(|point| hold.strike_at(point).is_some()) {
            strike::beside(&hold, body)
        } else {
            body()
        }
    }

    /// What is in effect on this thread.
    #[inline]
    pub(crate) fn current<'a>() -> Option<&'a Hold> {
        // SAFETY:
        // - null, or on the stack of this thread's call of `disturbed`, which has not ended:
        //   it takes the pointer away before it does.
        unsafe { HOLD.get().as_ref() }
    }

    /// This thread begins an operation.
    #[inline]
    pub(crate) fn begin() {
        if let Some(hold) = current() {
            // Relaxed: this thread's own.
            hold.made.store(0, Ordering::Relaxed);
        }
    }

    /// The points of this thread's next section, wound up; `None` if nothing is to happen.
    #[inline]
    pub(crate) fn armed<'a>() -> Option<&'a Points> {
        let hold = current()?;
        // Relaxed: this thread's own.
        if hold.made.load(Ordering::Relaxed) >= hold.plan.attempts {
            return None;
        }
        hold.made.fetch_add(1, Ordering::Relaxed);
        hold.wind_up();
        Some(&hold.points)
    }
}
