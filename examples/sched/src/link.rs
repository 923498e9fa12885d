//! [`Link`]: a pointer that one structure of the model keeps to another.
//!
//! The kernel's entities point at their parent, their queue and the queue they own, and a run
//! queue's leaf list strings the queues together. These pointers are the same in every layout, so
//! they must cost one load here too; an index into a table would charge the layouts for them.

#![allow(unsafe_code, reason = "stored pointers; the contract is that of `Link::set`")]

use bytemuck::Zeroable;
use core::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A stored pointer to a `T`, or none.
#[derive(Debug)]
#[repr(transparent)]
pub struct Link<T>(AtomicPtr<T>);

// SAFETY:
// * a zeroed `AtomicPtr` is the null pointer, which `get` reads as `None`.
unsafe impl<T> Zeroable for Link<T> {}

impl<T> Default for Link<T> {
    fn default() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }
}

impl<T> Link<T> {
    /// What the link points at.
    #[inline(always)]
    pub fn get(&self) -> Option<&T> {
        // Relaxed: links change only under the run queue's lock, or before the group is published.
        let target = self.0.load(Ordering::Relaxed);
        // SAFETY:
        // * `set` promises that the target outlives every use through this link;
        // * the model's structures are made of atomics, so shared references may coexist.
        unsafe { target.as_ref() }
    }

    /// Points the link at `target`.
    ///
    /// # Safety
    ///
    /// While the link can be read, and as long as any reference got through it lives, `target`
    /// stays where it is and is not dropped.
    #[inline(always)]
    pub unsafe fn set(&self, target: Option<&T>) {
        let target = target.map_or(ptr::null_mut(), |t| ptr::from_ref(t).cast_mut());
        // Relaxed: as in `get`.
        self.0.store(target, Ordering::Relaxed);
    }

    /// Points the link at nothing.
    #[inline(always)]
    pub fn clear(&self) {
        // Relaxed: as in `get`.
        self.0.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Whether the link points at `target` (the address is compared, nothing is read there).
    #[inline(always)]
    pub fn is(&self, target: Option<&T>) -> bool {
        // Relaxed: as in `get`.
        let stored: *const T = self.0.load(Ordering::Relaxed);
        ptr::eq(stored, target.map_or(ptr::null(), ptr::from_ref))
    }
}

/// The two links of a run queue's leaf list, as large as the kernel's list head.
#[derive(Debug)]
#[repr(C)]
pub struct LeafLinks<C> {
    /// The next queue, `None` at the end.
    pub next: Link<C>,
    /// The queue before, `None` at the beginning.
    pub prev: Link<C>,
}

// SAFETY:
// * both fields are `Zeroable` and there is no padding between two pointers.
unsafe impl<C> Zeroable for LeafLinks<C> {}
