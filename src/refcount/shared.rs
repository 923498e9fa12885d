//! [`Shared`]: a pointer that is counted. The room's one piece of unsafe code.
#![allow(unsafe_code, reason = "frees what is shared when the last reference is put")]

use super::count::Count;
use super::protocol;
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// What references point to.
#[repr(C)]
struct Inner<T> {
    count: Count,
    value: T,
}

/// One reference to a `T` on the heap. Once the [count](Self::count) was killed, the last one frees it.
pub(super) struct Shared<T> {
    inner: NonNull<Inner<T>>,
    /// Whoever drops the last reference drops a `T`.
    _owns: PhantomData<Inner<T>>,
}

// SAFETY: a reference leads to a `T` that several threads look at (`T: Sync`), and the last one drops
// it on whichever thread that is (`T: Send`). The count is made for threads.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above: with a `&Shared` one can make another reference.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The reference that `count` began with.
    pub(super) fn new(count: Count, value: T) -> Self {
        let inner = Box::into_raw(Box::new(Inner { count, value }));
        // SAFETY:
        // - a box is not null.
        let inner = unsafe { NonNull::new_unchecked(inner) };
        Self { inner, _owns: PhantomData }
    }

    #[inline]
    fn inner(&self) -> &Inner<T> {
        // SAFETY:
        // - this reference is counted, so the end has not come, and nobody has freed it;
        // - nobody has a `&mut`: only who ends it makes one.
        unsafe { self.inner.as_ref() }
    }

    #[inline]
    pub(super) fn value(&self) -> &T {
        &self.inner().value
    }

    #[inline]
    pub(super) fn count(&self) -> &Count {
        &self.inner().count
    }

    #[inline]
    pub(super) fn is(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl<T> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Self {
        self.count().get();
        Self { inner: self.inner, _owns: PhantomData }
    }
}

impl<T> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        let inner = self.inner.as_ptr();
        // SAFETY:
        // - this reference is counted still, so it is there;
        // - a place in it, which is not read.
        let count = unsafe { &raw const (*inner).count };
        // Parts, and not a `&Inner`: others may free it once this reference is put, while `put`
        // has not returned. What it is given is a handle and a reference to an atomic.
        // SAFETY:
        // - as above: alive until it is put, after which it is not looked at.
        let (lanes, mode) = unsafe { &*count }.parts();
        if protocol::put(lanes, mode) {
            // SAFETY:
            // - the count has told its end, which it does once;
            // - this reference is put, and gone.
            unsafe { free(self.inner) };
        }
    }
}

/// # Safety
///
/// No reference is left, and nobody else frees it.
#[cold]
#[inline(never)]
unsafe fn free<T>(inner: NonNull<Inner<T>>) {
    // SAFETY:
    // - `new` took it out of a box;
    // - nobody uses it any more, and it is freed once, as the caller promised.
    drop(unsafe { Box::from_raw(inner.as_ptr()) });
}
