//! How this room says no.

use crate::percpu::{PerCpu, PerCpuRef};
use core::fmt;

/// Another object was in the slot. Nothing was changed.
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
pub struct Pinned<U = ()> {
    pub(super) given_back: U,
}

impl<U> Pinned<U> {
    /// What was to be waited for.
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
