//! Magazines for threads, where there are no sections or no way to take lanes over.
//!
//! Each thread has a lane of its own, used by atomics: its lock is this thread's but for drains.
//! A thread that ends leaves its lane to a later thread (the crate `thread_local` gives numbers
//! out anew), and drains find it meanwhile.

use super::lanes::{Lane, Reach};
use crate::sys::rseq::Atomic;
use core::cell::Cell;
use core::ptr;
use thread_local::ThreadLocal;

/// A lane for each thread that came by.
#[derive(Debug, Default)]
pub(super) struct Magazines(ThreadLocal<Lane>);

/// Says that this thread ends: what it was given for its life may be gone.
struct Sentinel;

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = ENDING.try_with(|ending| ending.set(true));
    }
}

std::thread_local! {
    static ENDING: Cell<bool> = const { Cell::new(false) };
    // Made before and after the number that `thread_local` gives this thread: destructors run in
    // one order or in the other, and asking for a number after it was given back is a panic there.
    static BEFORE: Sentinel = const { Sentinel };
    static AFTER: Sentinel = const { Sentinel };
}

impl Magazines {
    /// This thread's; `None` while the thread ends.
    #[inline]
    pub(super) fn here(&self) -> Option<Reach<Atomic>> {
        let lane = match self.0.get() {
            Some(lane) => lane,
            None => self.first()?,
        };
        Some(Reach { on: Atomic::on_lane(0), lane0: ptr::from_ref(lane).cast_mut() })
    }

    /// The first time that this thread comes by.
    #[cold]
    fn first(&self) -> Option<&Lane> {
        if ENDING.try_with(Cell::get).unwrap_or(true) || BEFORE.try_with(|_| ()).is_err() {
            return None;
        }
        let lane = self.0.get_or(Lane::default);
        AFTER.try_with(|_| ()).ok()?;
        Some(lane)
    }

    /// Every thread's lane, also of threads that ended.
    pub(super) fn iter(&self) -> impl Iterator<Item = *mut Lane> {
        self.0.iter().map(|lane| ptr::from_ref(lane).cast_mut())
    }
}
