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

    /// The point that was reached last. Another thread may ask.
    pub fn at(&self) -> usize {
        // Relaxed: a hint when to strike.
        self.at.load(Ordering::Relaxed) as usize
    }
}

#[cfg(feature = "testing")]
pub(super) use seam::armed;
#[cfg(feature = "testing")]
pub use seam::hold;

/// The way from a test to the sections of the entry points.
#[cfg(feature = "testing")]
mod seam {
    #![allow(unsafe_code, reason = "a borrowed value behind a thread-local")]

    use super::Points;
    use std::cell::Cell;

    /// How long to wait at each point, and the points that count it down.
    struct Hold {
        turns: [u32; Points::COUNT],
        points: Points,
    }

    std::thread_local! {
        static HOLD: Cell<*const Hold> = const { Cell::new(core::ptr::null()) };
    }

    /// Runs `body`; every section that this thread's operations begin in it waits
    /// `turns[k]` turns at point `k`. Nothing else changes, on this or another thread.
    pub fn hold<R>(turns: [u32; Points::COUNT], body: impl FnOnce() -> R) -> R {
        /// Puts the outer hold back, also when `body` panics.
        struct Back(*const Hold);
        impl Drop for Back {
            fn drop(&mut self) {
                HOLD.set(self.0);
            }
        }
        let hold = Hold { turns, points: Points::default() };
        let _back = Back(HOLD.replace(&raw const hold));
        body()
    }

    /// The points of this thread's next section, wound up; `None` outside `hold`.
    #[inline]
    pub(crate) fn armed<'a>() -> Option<&'a Points> {
        let hold = HOLD.get();
        if hold.is_null() {
            return None;
        }
        // SAFETY:
        // - `hold` is on the stack of this thread's call of `hold`, which has not ended:
        //   it takes the pointer away before it does.
        let hold = unsafe { &*hold };
        for (point, turns) in hold.turns.iter().enumerate() {
            hold.points.set(point, *turns);
        }
        Some(&hold.points)
    }
}
