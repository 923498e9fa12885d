//! The contract with atomic instructions, for the spill lane and for processes without
//! sections.
//!
//! Words take one locked instruction. Lists, stacks and copies take the lane's lock, and
//! give up at once if it is held (a compare-and-swap pop would have ABA, and two pushers
//! would fill one slot): nothing spins, so a signal handler that interrupts a holder gets
//! [`Outcome::Busy`], not a deadlock.
//!
//! Who takes a lane over from guarded operations changes the guard, then takes the lane's
//! lock: whoever held it before has finished, and whoever takes it later sees the change.
//! Words have no lock; there the operation looks at the guard once more after its store,
//! and says [`Outcome::Late`] if it changed. A guard for sections alone is not looked at here.
#![allow(unsafe_code, reason = "lanes are reached by address")]

use super::steps::Stepped;
use super::{Anchor, Form, Int, Outcome, Stride, Word, Words};
use crate::sync::{AtomicUsize, Ordering, fence};

/// Operations by atomics on one lane.
#[derive(Clone, Copy, Debug)]
pub struct Atomic {
    lane: u32,
}

impl Atomic {
    /// On `lane`, whatever CPU the thread is on.
    #[inline(always)]
    pub const fn on_lane(lane: u32) -> Self {
        Self { lane }
    }

    /// This lane's copy.
    #[inline(always)]
    fn at<S: Stride, T>(self, lane0: *mut T) -> *mut T {
        lane0.wrapping_byte_add(self.lane as usize * S::BYTES)
    }

    /// One word: the form's tests, then `op`.
    ///
    /// # Safety
    ///
    /// See [`Contract`](super::Contract).
    #[inline(always)]
    unsafe fn word<S: Stride, W: Word, F: Form, T>(
        self,
        word: *mut W,
        form: F,
        op: impl FnOnce(&W::Atomic, Ordering) -> Result<T, T>,
    ) -> Outcome<T> {
        let lane = self.lane;
        if F::ON && form.cpu() != lane {
            return Outcome::Moved;
        }
        // SAFETY:
        // - as the caller promised of the guard.
        if !F::SECTIONS_ONLY && unsafe { is_closed(form) } {
            return Outcome::Closed;
        }
        // Release [E23]: pairs with the Acquire of whoever asked for this form and loads the
        // word. Relaxed else: then nobody concludes anything about other memory from it.
        let order = if F::RELEASE { Ordering::Release } else { Ordering::Relaxed };
        // SAFETY:
        // - a live word lies there, and is used as an atomic only (`Contract`).
        let there = unsafe { &*self.at::<S, W>(word).cast::<W::Atomic>() };
        let value = match op(there, order) {
            Ok(value) => value,
            Err(value) => return Outcome::Differs { lane, value },
        };
        if F::GUARDED && !F::SECTIONS_ONLY {
            // [E21]: pairs with the fence between a change of the guard and the look at the
            // lane. Either that look sees the store above, or the load below sees the change.
            fence(Ordering::SeqCst);
            // SAFETY:
            // - as the caller promised of the guard.
            if unsafe { is_closed(form) } {
                return Outcome::Late { lane, value };
            }
        }
        Outcome::Committed { lane, value }
    }
}

impl Stepped for Atomic {
    /// Under the lane's lock.
    #[inline(always)]
    unsafe fn anchored<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        form: F,
        step: impl FnOnce(*mut u8, usize) -> Result<(usize, usize), usize>,
    ) -> Outcome<usize> {
        let lane = self.lane;
        if F::ON && form.cpu() != lane {
            return Outcome::Moved;
        }
        let place = self.at::<S, Anchor>(anchor);
        // SAFETY:
        // - a live anchor lies there (`Contract`).
        let anchor = unsafe { &*place };
        if !try_lock(anchor) {
            return Outcome::Busy;
        }
        // SAFETY:
        // - as the caller promised of the guard.
        let outcome = if !F::SECTIONS_ONLY && unsafe { is_closed(form) } {
            Outcome::Closed
        } else {
            // Relaxed: only holders of the lock store to the word.
            match step(place.cast(), anchor.word.load(Ordering::Relaxed)) {
                Err(value) => Outcome::Differs { lane, value },
                Ok((word, value)) => {
                    // Release [E23]: pairs as in `word`. Relaxed else.
                    let order = if F::RELEASE { Ordering::Release } else { Ordering::Relaxed };
                    anchor.word.store(word, order);
                    Outcome::Committed { lane, value }
                }
            }
        };
        unlock(anchor);
        outcome
    }
}

/// Whether the form has a guard, and it does not hold the expected value.
///
/// # Safety
///
/// The guard, if there is one, is valid for atomic loads.
#[inline(always)]
pub(super) unsafe fn is_closed<F: Form>(form: F) -> bool {
    if !F::GUARDED {
        return false;
    }
    let (guard, expect) = form.guard();
    // SAFETY:
    // - the caller keeps the guard valid for atomic loads (`Contract`).
    let guard: &AtomicUsize = unsafe { &*guard };
    // Relaxed: the edge is the fence in `word`, and the lock in `locked`.
    guard.load(Ordering::Relaxed) != expect
}

/// Takes a lane's lock, if it is free. Not for a CPU lane of a process with sections.
#[inline(always)]
pub fn try_lock(anchor: &Anchor) -> bool {
    // Acquire [E22]: pairs with the Release in `unlock`: what the last holder did is seen.
    // Relaxed on failure: nothing is looked at.
    anchor.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Gives a lane's lock back; the caller holds it.
#[inline(always)]
pub fn unlock(anchor: &Anchor) {
    // Release [E22]: pairs with the Acquire in `try_lock`.
    anchor.lock.store(0, Ordering::Release);
}

impl Words for Atomic {
    #[inline(always)]
    unsafe fn add<S: Stride, W: Int, F: Form>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<()> {
        let add = |to: &W::Atomic, order| Ok(value.update(to, super::update::ADD, order));
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.word::<S, W, F, W>(word, form, add) }.map(|_| ())
    }

    #[inline(always)]
    unsafe fn update<S: Stride, W: Int, F: Form, const OP: u32>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.word::<S, W, F, W>(word, form, |to, order| Ok(value.update(to, OP, order))) }
    }

    #[inline(always)]
    unsafe fn swap<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.word::<S, W, F, W>(word, form, |to, order| Ok(value.swap(to, order))) }
    }

    #[inline(always)]
    unsafe fn compare_store<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        expect: W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        let exchange = |to: &W::Atomic, order| value.compare_exchange(to, expect, order);
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.word::<S, W, F, W>(word, form, exchange) }
    }
}
