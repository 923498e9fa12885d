//! Additions that take place only while a word says so, for the rooms above.
//!
//! Each is the guarded form of the section that an `add` is: the guard is loaded and compared, and the
//! addition committed, with nothing between. After a change of the guard and a
//! [fence](crate::sys::rseq::fence_all) no addition that saw the old value is left.

use super::cell::{Number, PerCpuCell};
use super::handle::PerCpuRef;
use super::stride::StrideOf;
use crate::sync::AtomicUsize;
use crate::sys::rseq::{Atomic, Entry, Form, HERE, Outcome, Words};

/// What became of a guarded addition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Added {
    /// It took place, while the guard held the expected value.
    Done,
    /// It took place, by an atomic, while the guard changed: whoever changed it may have looked
    /// before. The caller takes it back, or tells.
    Late,
    /// Nothing was added: the guard holds something else.
    Closed,
}

impl From<Outcome<()>> for Added {
    #[inline(always)]
    fn from(outcome: Outcome<()>) -> Self {
        match outcome {
            Outcome::Committed { .. } => Self::Done,
            Outcome::Late { .. } => Self::Late,
            // The other outcomes are those of other forms, and of lists.
            _ => Self::Closed,
        }
    }
}

impl<W: Number, O> PerCpuRef<'_, PerCpuCell<W>, O> {
    /// Adds `value` to this CPU's copy, wrapping, while `guard` holds `expect`. With `RELEASE` who
    /// sees it sees what this thread did before.
    #[inline(always)]
    pub(crate) fn add_while<const RELEASE: bool>(
        self,
        value: W,
        guard: &AtomicUsize,
        expect: usize,
    ) -> Added {
        let (on, form) = (Entry(move || self.header().cpus), HERE.guarded(guard, expect));
        if RELEASE {
            // SAFETY: `on` is the entry; the guard is borrowed.
            unsafe { self.add_as(on, value, form.release()) }
        } else {
            // SAFETY: as above.
            unsafe { self.add_as(on, value, form) }
        }
    }

    /// Adds `value` to this CPU's copy, wrapping, in release form.
    #[inline]
    pub(crate) fn add_release(self, value: W) {
        let on = Entry(move || self.header().cpus);
        // SAFETY: `on` is the entry; there is no guard.
        unsafe { self.add_as(on, value, HERE.release()) };
    }

    /// [`add_while`](Self::add_while) in release form, by an atomic on the copy of a CPU that this
    /// thread was just on, also in a process with sections. For objects that no section ever
    /// updates.
    pub(crate) fn add_shared_while(self, value: W, guard: &AtomicUsize, expect: usize) -> Added {
        let (on, form) = (self.atomic_here(), HERE.guarded(guard, expect).release());
        // SAFETY: the caller uses nothing but atomics; the guard is borrowed.
        unsafe { self.add_as(on, value, form) }
    }

    /// [`add_release`](Self::add_release) by an atomic, as
    /// [`add_shared_while`](Self::add_shared_while).
    pub(crate) fn add_shared(self, value: W) {
        // SAFETY: the caller uses nothing but atomics; there is no guard.
        unsafe { self.add_as(self.atomic_here(), value, HERE.release()) };
    }

    /// Atomics on the copy of a CPU that this thread was on a moment ago.
    fn atomic_here(self) -> Atomic {
        Atomic::on_lane(self.here().0.index() as u32)
    }

    /// # Safety
    ///
    /// The CPU lanes of this object are updated by `Entry` alone, or by `Atomic` alone. The guard of
    /// the form is valid for atomic loads.
    #[inline(always)]
    unsafe fn add_as<C: Words, F: Form>(self, on: C, value: W, form: F) -> Added {
        let word = self.lane0().as_ptr().cast::<W>();
        // SAFETY:
        // * a cell, which is a word, lies in every lane of the object, `StrideOf<O>` apart;
        // * the rest is passed on to the caller.
        unsafe { on.add::<StrideOf<O>, W, _>(word, value, form) }.into()
    }
}
