//! Tells the thread sanitizer what sections order. Only with `--cfg corelocal_tsan`.
//!
//! The sanitizer sees what compiled code loads and stores, and no assembly. A commit is a store that it
//! does not know of, so what a section publishes (a node's content by a push, a reader's work by the
//! exit that it counts) looks to it as if nothing ordered it. Here each edge of the contract is told,
//! and none that the contract does not have:
//!
//! | edge | from | to |
//! |---|---|---|
//! | a lane's list, stack or copy | before an [`Anchored`](super::Anchored) operation | after one that acted on the same lane |
//! | E23 | before an operation in release form, or an anchored one | an Acquire of the word by the program (a real one, which the sanitizer sees; or [`acquire`]) |
//! | E24 | before a guarded section | after a [`fence_all`](super::fence_all), and the other way round |
//!
//! What is released must be so before the commit, when the lane is not known yet; so it is released to
//! every lane that the section may commit to. A race between the lanes of *one* object can hide behind
//! that; one with anything else cannot. The sanitizer has its own words for "fence" too: it knows none,
//! so a fence (Acquire) after relaxed loads is told as well, with [`acquire`].
//!
//! # What the cfg wants
//!
//! `-Zsanitizer=thread`: its run time has the two functions below, and nothing else has.
#![allow(unsafe_code, reason = "calls the run time of the sanitizer")]

use super::{Anchor, Form, Outcome, Stack, Stride, Word};
use core::ptr;

unsafe extern "C" {
    /// What this thread did is before whatever acquires the address later. Touches nothing.
    safe fn __tsan_acquire(address: *mut u8);
    /// The other side.
    safe fn __tsan_release(address: *mut u8);
}

/// Stand for the kernel's barrier, one each way: sections do not order each other by it.
static ENDED: u64 = 0;
static BEGUN: u64 = 0;

fn word(of: &'static u64) -> *mut u8 {
    ptr::from_ref(of).cast_mut().cast()
}

/// What operations commit to, in lane 0.
pub(super) trait Target: Copy {
    /// Whether who acts on a lane sees what the last one there did.
    const ORDERS: bool;

    fn address(self) -> *mut u8;
}

impl<W: Word> Target for *mut W {
    const ORDERS: bool = false;

    fn address(self) -> *mut u8 {
        self.cast()
    }
}

impl Target for *mut Anchor {
    const ORDERS: bool = true;

    fn address(self) -> *mut u8 {
        self.cast()
    }
}

impl Target for Stack {
    const ORDERS: bool = true;

    fn address(self) -> *mut u8 {
        self.anchor.cast()
    }
}

/// Before a section on one of the lanes `0..lanes`.
pub(super) fn before<S: Stride, T: Target, F: Form>(target: T, form: F, lanes: u32) {
    let lanes = if F::ON { form.cpu()..form.cpu() + 1 } else { 0..lanes };
    if T::ORDERS || F::RELEASE {
        lanes.for_each(|lane| __tsan_release(copy::<S, T>(target, lane)));
    }
    if F::GUARDED {
        __tsan_release(word(&ENDED));
    }
}

/// After a section that ended so.
pub(super) fn after<S: Stride, T: Target, F: Form, V>(target: T, outcome: &Outcome<V>) {
    if let Outcome::Committed { lane, .. } | Outcome::Differs { lane, .. } = outcome {
        if T::ORDERS {
            __tsan_acquire(copy::<S, T>(target, *lane));
        }
    }
    if F::GUARDED {
        __tsan_acquire(word(&BEGUN));
    }
}

fn copy<S: Stride, T: Target>(target: T, lane: u32) -> *mut u8 {
    target.address().wrapping_byte_add(lane as usize * S::BYTES)
}

/// Before the kernel's barrier is asked for.
pub(super) fn before_fence() {
    __tsan_release(word(&BEGUN));
}

/// After it.
pub(super) fn after_fence() {
    __tsan_acquire(word(&ENDED));
}

/// This thread has loaded the word at `address`, relaxed, and a fence (Acquire) makes it an edge.
pub(crate) fn acquire<T>(address: *const T) {
    __tsan_acquire(address.cast_mut().cast());
}
