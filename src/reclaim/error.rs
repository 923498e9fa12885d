//! How this room says no.

use crate::percpu::{PerCpu, PerCpuRef};
use core::fmt;

/// Another object was in the slot. Nothing was changed.
///
/// ```
/// use corelocal::{AtomicPerCpu, PerCpu, reclaim::pin};
///
/// let slot = AtomicPerCpu::null();
/// let guard = pin();
/// slot.swap(Some(PerCpu::new(|_| "first")), &guard);
/// // Another thread was faster. What was not put comes back, and what is there is told.
/// let lost = slot.compare_exchange(None, Some(PerCpu::new(|_| "second")), &guard).unwrap_err();
/// assert_eq!(lost.current.map(|there| *there.spill()), Some("first"));
/// assert_eq!(lost.new.map(|mine| *mine.spill()), Some("second"));
/// ```
pub struct CompareExchangeError<'g, T> {
    /// What is in the slot.
    pub current: Option<PerCpuRef<'g, T>>,
    /// What was not put there.
    pub new: Option<PerCpu<T>>,
}

impl<T> fmt::Debug for CompareExchangeError<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompareExchangeError")
            .field("current", &self.current)
            .field("new", &self.new)
            .finish()
    }
}

impl<T> fmt::Display for CompareExchangeError<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "another object is in the slot by now: begin again from `current`, and use `new` or \
             drop it",
        )
    }
}

impl<T> core::error::Error for CompareExchangeError<'_, T> {}

/// The calling thread is pinned, so it would wait for itself. It did not wait.
///
/// ```
/// use corelocal::reclaim::{Pinned, pin, wait_for_readers};
///
/// let guard = pin();
/// assert_eq!(wait_for_readers().map_err(|Pinned { .. }| "would wait for itself"), Err("would wait for itself"));
/// drop(guard); // or wait where no guard is held
/// wait_for_readers()?;
/// # Ok::<(), Pinned>(())
/// ```
pub struct Pinned<U = ()> {
    pub(super) given_back: U,
}

impl<U> Pinned<U> {
    /// What was to be waited for.
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, reclaim::pin};
    ///
    /// let slot = AtomicPerCpu::new(PerCpu::new(|_| 1));
    /// let guard = pin();
    /// let old = slot.swap(None, &guard).unwrap();
    /// // Cannot be waited for here: it is dropped when the readers are done instead.
    /// let Err(pinned) = old.wait() else { unreachable!("a guard is held") };
    /// pinned.into_inner().retire(&guard);
    /// ```
    pub fn into_inner(self) -> U {
        self.given_back
    }
}

impl<U> fmt::Debug for Pinned<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").finish_non_exhaustive()
    }
}

impl<U> fmt::Display for Pinned<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the calling thread is pinned and would wait for itself: drop its guards first \
             (in a deferred callback, defer again instead of waiting)",
        )
    }
}

impl<U> core::error::Error for Pinned<U> {}
