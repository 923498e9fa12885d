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
//! and says [`Outcome::Late`] if it changed.
#![allow(unsafe_code, reason = "lanes are reached by address")]

use super::{Anchor, Anchored, Copied, Form, Int, Outcome, Stack, Stride, Word, Words};
use crate::sync::{AtomicUsize, Ordering, fence};
use core::ptr;

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
        if unsafe { is_closed(form) } {
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
        if F::GUARDED {
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

    /// Under the lane's lock: `step` gets the anchor and its word, and says which word to
    /// commit and what to return, or what it found instead.
    ///
    /// # Safety
    ///
    /// See [`Contract`](super::Contract).
    #[inline(always)]
    unsafe fn locked<S: Stride, F: Form>(
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
        let outcome = if unsafe { is_closed(form) } {
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
unsafe fn is_closed<F: Form>(form: F) -> bool {
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

impl Anchored for Atomic {
    #[inline(always)]
    unsafe fn list_push<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        node: *mut u8,
        next: usize,
        form: F,
    ) -> Outcome<usize> {
        let push = |_: *mut u8, head: usize| {
            // SAFETY:
            // - the node is the caller's own, and has a word there.
            unsafe { node.wrapping_add(next).cast::<usize>().write_unaligned(head) };
            Ok((node.expose_provenance(), head))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.locked::<S, F>(anchor, form, push) }
    }

    #[inline(always)]
    unsafe fn list_pop<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        next: usize,
        form: F,
    ) -> Outcome<usize> {
        let pop = |_: *mut u8, head: usize| {
            if head == 0 {
                return Err(head);
            }
            let link = ptr::with_exposed_provenance::<u8>(head).wrapping_add(next);
            // SAFETY:
            // - the node is in the list, and the lock keeps it there.
            let rest = unsafe { link.cast::<usize>().read_unaligned() };
            Ok((rest, head))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.locked::<S, F>(anchor, form, pop) }
    }

    #[inline(always)]
    unsafe fn list_take<S: Stride, F: Form>(self, anchor: *mut Anchor, form: F) -> Outcome<usize> {
        let take = |_: *mut u8, head: usize| if head == 0 { Err(head) } else { Ok((0, head)) };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.locked::<S, F>(anchor, form, take) }
    }

    #[inline(always)]
    unsafe fn stack_push<S: Stride, F: Form>(
        self,
        stack: Stack,
        value: usize,
        form: F,
    ) -> Outcome<usize> {
        let push = |lane: *mut u8, count: usize| {
            if count >= stack.capacity {
                return Err(count);
            }
            let slot = lane.wrapping_add(stack.slots).cast::<usize>().wrapping_add(count);
            // SAFETY:
            // - the slot is one of the lane's, and nobody's until the commit.
            unsafe { slot.write(value) };
            Ok((count + 1, count))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.locked::<S, F>(stack.anchor, form, push) }
    }

    #[inline(always)]
    unsafe fn stack_pop<S: Stride, F: Form>(self, stack: Stack, form: F) -> Outcome<usize> {
        let pop = |lane: *mut u8, count: usize| {
            if count == 0 {
                return Err(count);
            }
            let slot = lane.wrapping_add(stack.slots).cast::<usize>().wrapping_add(count - 1);
            // SAFETY:
            // - the slot was filled by a push, and the lock keeps it so.
            let value = unsafe { slot.read() };
            Ok((count - 1, value))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.locked::<S, F>(stack.anchor, form, pop) }
    }

    #[inline(always)]
    unsafe fn stack_push_batch<S: Stride, F: Form>(
        self,
        stack: Stack,
        from: *const usize,
        count: usize,
        form: F,
    ) -> Outcome<usize> {
        let push = |lane: *mut u8, filled: usize| {
            let moved = count.min(stack.capacity.saturating_sub(filled));
            if moved == 0 {
                return Err(filled);
            }
            let slot = lane.wrapping_add(stack.slots).cast::<usize>().wrapping_add(filled);
            // SAFETY:
            // - the slots are the lane's, and nobody's until the commit;
            // - `from` is readable for `count` words, and apart from the lane.
            unsafe { slot.copy_from_nonoverlapping(from, moved) };
            Ok((filled + moved, moved))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.locked::<S, F>(stack.anchor, form, push) }
    }

    #[inline(always)]
    unsafe fn stack_pop_batch<S: Stride, F: Form>(
        self,
        stack: Stack,
        to: *mut usize,
        count: usize,
        form: F,
    ) -> Outcome<usize> {
        let pop = |lane: *mut u8, filled: usize| {
            let moved = count.min(filled);
            if moved == 0 {
                return Err(filled);
            }
            let slot = lane.wrapping_add(stack.slots).cast::<usize>().wrapping_add(filled - moved);
            // SAFETY:
            // - the slots were filled by pushes, and the lock keeps them so;
            // - `to` is writable for `count` words, and apart from the lane.
            unsafe { slot.copy_to_nonoverlapping(to, moved) };
            Ok((filled - moved, moved))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.locked::<S, F>(stack.anchor, form, pop) }
    }

    #[inline(always)]
    unsafe fn copy<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        bytes: Copied,
        form: F,
    ) -> Outcome<usize> {
        let copy = |lane: *mut u8, index: usize| {
            if index != bytes.expect {
                return Err(index);
            }
            let to = lane.wrapping_add(bytes.to);
            // SAFETY:
            // - the bytes at `to` are free while the index is `expect`;
            // - `from` is readable for `len` bytes, and apart from the lane.
            unsafe { to.copy_from_nonoverlapping(bytes.from, bytes.len) };
            Ok((bytes.commit, index))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.locked::<S, F>(anchor, form, copy) }
    }
}
