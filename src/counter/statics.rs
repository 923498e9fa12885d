//! [`StaticCounter`] and [`StaticGauge`]: counters in a static, made at their first use.

use super::CounterRef;
use crate::error::AllocError;
use crate::percpu::{PerCpu, PerCpuCell, PerCpuRef, PerCpuStatic};
use core::fmt;

/// A [`PerCpuCounter`](super::PerCpuCounter) for a static.
///
/// The memory is taken at the first use, without a lock, and never given back. A use costs one load
/// and one predictable branch more than a handle in a register.
///
/// ```
/// use corelocal::StaticCounter;
/// static REQUESTS: StaticCounter = StaticCounter::new();
/// REQUESTS.inc();
/// assert_eq!(REQUESTS.sum(), 1);
/// ```
///
/// # Panics
///
/// Every use panics where the counter is not there yet and the system refuses memory for it:
/// [`StaticCounter::try_as_ref`] in time avoids that, and makes later uses safe in signal handlers.
pub struct StaticCounter(PerCpuStatic<PerCpuCell<u64>>);

impl StaticCounter {
    /// A counter of zero, which takes no memory yet.
    #[allow(clippy::new_without_default, reason = "for statics, where there is no `default()`")]
    pub const fn new() -> Self {
        Self(PerCpuStatic::new(PerCpu::try_zeroed))
    }

    /// A handle to the counter, which is made now if this is the first use.
    #[inline]
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> CounterRef<'static> {
        CounterRef::new(self.0.as_ref())
    }

    /// As [`StaticCounter::as_ref`], for those who want to know before they count on it.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the system refuses memory; the next use tries again.
    pub fn try_as_ref(&self) -> Result<CounterRef<'static>, AllocError> {
        self.0.try_as_ref().map(CounterRef::new)
    }

    /// See [`CounterRef::add`].
    #[inline]
    pub fn add(&self, value: u64) {
        self.as_ref().add(value);
    }

    /// See [`CounterRef::inc`].
    #[inline]
    pub fn inc(&self) {
        self.as_ref().inc();
    }

    /// See [`CounterRef::sum`].
    #[inline]
    pub fn sum(&self) -> u64 {
        self.as_ref().sum()
    }

    /// See [`CounterRef::take`].
    #[inline]
    pub fn take(&self) -> u64 {
        self.as_ref().take()
    }
}

impl fmt::Debug for StaticCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticCounter").finish_non_exhaustive()
    }
}

/// A [`PerCpuGauge`](super::PerCpuGauge) for a static.
///
/// Made, used and refused as a [`StaticCounter`].
///
/// ```
/// use corelocal::StaticGauge;
/// static OPEN: StaticGauge = StaticGauge::new();
/// OPEN.inc();
/// OPEN.dec();
/// assert_eq!(OPEN.sum(), 0);
/// ```
pub struct StaticGauge(PerCpuStatic<PerCpuCell<i64>>);

impl StaticGauge {
    /// A gauge of zero, which takes no memory yet.
    #[allow(clippy::new_without_default, reason = "for statics, where there is no `default()`")]
    pub const fn new() -> Self {
        Self(PerCpuStatic::new(PerCpu::try_zeroed))
    }

    /// A handle to the gauge, which is made now if this is the first use.
    #[inline]
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> PerCpuRef<'static, PerCpuCell<i64>> {
        self.0.as_ref()
    }

    /// As [`StaticGauge::as_ref`], for those who want to know before they count on it.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the system refuses memory; the next use tries again.
    pub fn try_as_ref(&self) -> Result<PerCpuRef<'static, PerCpuCell<i64>>, AllocError> {
        self.0.try_as_ref()
    }

    /// See [`PerCpuGauge::add`](super::PerCpuGauge::add).
    #[inline]
    pub fn add(&self, value: i64) {
        self.0.add(value);
    }

    /// See [`PerCpuGauge::sub`](super::PerCpuGauge::sub).
    #[inline]
    pub fn sub(&self, value: i64) {
        self.0.sub(value);
    }

    /// See [`PerCpuGauge::inc`](super::PerCpuGauge::inc).
    #[inline]
    pub fn inc(&self) {
        self.0.inc();
    }

    /// See [`PerCpuGauge::dec`](super::PerCpuGauge::dec).
    #[inline]
    pub fn dec(&self) {
        self.0.dec();
    }

    /// See [`PerCpuGauge::sum`](super::PerCpuGauge::sum).
    #[inline]
    pub fn sum(&self) -> i64 {
        self.0.sum()
    }
}

impl fmt::Debug for StaticGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticGauge").finish_non_exhaustive()
    }
}
