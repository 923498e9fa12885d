//! The facade over atomics: the only file that names loom.
//!
//! Everything else in the crate writes `use crate::sync::...`. Under
//! `--cfg corelocal_loom` with the feature `loom` these are loom's types, so the
//! code that runs in production is the code that the models explore.
#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "not every build mode and feature set uses every name"
)]

#[cfg(all(corelocal_loom, feature = "loom"))]
mod inner {
    pub(crate) use loom::sync::atomic::{
        AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
        AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use loom::thread::ThreadId;

    /// Which of a model's threads runs: they are fibres of one thread of the system.
    pub(crate) fn current_thread() -> ThreadId {
        loom::thread::current().id()
    }
}

#[cfg(not(all(corelocal_loom, feature = "loom")))]
mod inner {
    pub(crate) use alloc::sync::Arc;
    pub(crate) use core::sync::atomic::{
        AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
        AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    #[cfg(feature = "std")]
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
}

/// Lets other threads run, for the `turn`th time: at first those that wait for this CPU, then for
/// a millisecond whoever it is.
#[cfg(feature = "std")]
pub(crate) fn pause(turn: usize) {
    #[cfg(all(corelocal_loom, feature = "loom"))]
    {
        let _ = turn;
        loom::thread::yield_now();
    }
    #[cfg(not(all(corelocal_loom, feature = "loom")))]
    if turn < 8 {
        std::thread::yield_now();
    } else {
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
}

pub(crate) use core::sync::atomic::Ordering;
pub(crate) use inner::*;

/// A full barrier right after an atomic read-modify-write of this thread.
///
/// On x86-64 such an operation is a locked instruction, which is a full barrier by itself
/// (Intel SDM 3A, 9.2.3.9; AMD APM 2, 7.4.2), so only the compiler must be kept from moving what
/// follows before it. Elsewhere, and under loom and Miri, it is a fence.
#[inline(always)]
pub(crate) fn fence_after_rmw() {
    #[cfg(all(target_arch = "x86_64", not(any(corelocal_loom, miri))))]
    core::sync::atomic::compiler_fence(Ordering::SeqCst); // [E6, E31, E32]
    #[cfg(not(all(target_arch = "x86_64", not(any(corelocal_loom, miri)))))]
    fence(Ordering::SeqCst); // [E6, E31, E32]
}

/// Stands for plain memory that atomics hand from thread to thread. Nothing at all, but under
/// loom, which fails a model unless each use *happens before* the next (reads among themselves
/// excepted): so a model sees that an edge is missing where only atomics would not show it.
#[cfg(all(corelocal_loom, feature = "loom"))]
#[derive(Debug, Default)]
pub(crate) struct Watch(loom::cell::UnsafeCell<()>);

#[cfg(all(corelocal_loom, feature = "loom"))]
impl Watch {
    #[track_caller]
    pub(crate) fn read(&self) {
        self.0.with(|_| ());
    }

    #[track_caller]
    pub(crate) fn write(&self) {
        self.0.with_mut(|_| ());
    }
}

#[cfg(not(all(corelocal_loom, feature = "loom")))]
#[cfg_attr(not(feature = "std"), allow(dead_code, reason = "mappings are watched, with `std`"))]
#[derive(Debug, Default)]
pub(crate) struct Watch;

#[cfg(not(all(corelocal_loom, feature = "loom")))]
#[cfg_attr(not(feature = "std"), allow(dead_code, reason = "mappings are watched, with `std`"))]
impl Watch {
    #[inline(always)]
    pub(crate) fn read(&self) {}

    #[inline(always)]
    pub(crate) fn write(&self) {}
}

/// core's atomics in every build mode, for words that no model explores: statics
/// of the whole process (a loom atomic cannot be made in a constant).
pub(crate) mod plain {
    #[allow(unused_imports, reason = "not every build mode and feature set uses every name")]
    pub(crate) use core::sync::atomic::{AtomicIsize, AtomicPtr, AtomicU32, AtomicUsize};
}

/// A `const fn`, but for models: loom's atomics cannot be made in constants.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis const fn $($rest:tt)*) => {
        #[cfg(not(all(corelocal_loom, feature = "loom")))]
        $(#[$meta])* $vis const fn $($rest)*
        #[cfg(all(corelocal_loom, feature = "loom"))]
        $(#[$meta])* $vis fn $($rest)*
    };
}
pub(crate) use const_unless_loom;
