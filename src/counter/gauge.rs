//! [`PerCpuGauge`]: a count that goes down as well.

use super::zeros;
use crate::error::AllocError;
use crate::percpu::{Area, PerCpu, PerCpuCell, PerCpuRef};
use core::fmt;

/// A signed count that goes up and down: connections open, bytes in use.
///
/// One word, and 8 bytes a lane. An update is a [`PerCpuCell`]'s, as fast and as safe as that of a
/// [`PerCpuCounter`](super::PerCpuCounter). What one CPU raises another may lower: single
/// lanes wrap, and the sum is right.
///
/// ```
/// use corelocal::PerCpuGauge;
/// let open = PerCpuGauge::new();
/// open.inc();
/// open.add(5);
/// open.sub(7);
/// assert_eq!(open.sum(), -1);
/// ```
#[repr(transparent)]
pub struct PerCpuGauge(PerCpu<PerCpuCell<i64>>);

impl PerCpuGauge {
    /// A gauge of zero, in the global area. Touches no memory of any lane.
    ///
    /// # Panics
    ///
    /// If the system refuses memory.
    #[cfg(not(corelocal_loom))]
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self(PerCpu::zeroed())
    }

    /// As [`PerCpuGauge::new`].
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    #[cfg(not(corelocal_loom))]
    pub fn try_new() -> Result<Self, AllocError> {
        Self::in_area(Area::global())
    }

    /// A gauge of zero in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    pub fn in_area(area: &Area) -> Result<Self, AllocError> {
        zeros(area).map(Self)
    }

    /// A handle to share: one word, `Copy`, with the same operations.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> PerCpuRef<'_, PerCpuCell<i64>> {
        self.0.as_ref()
    }

    /// Raises the gauge by `value`, wrapping, on this CPU's copy.
    #[inline]
    pub fn add(&self, value: i64) {
        self.0.add(value);
    }

    /// Lowers the gauge by `value`, wrapping, on this CPU's copy.
    #[inline]
    pub fn sub(&self, value: i64) {
        self.0.sub(value);
    }

    /// Raises the gauge by one.
    #[inline]
    pub fn inc(&self) {
        self.0.inc();
    }

    /// Lowers the gauge by one.
    #[inline]
    pub fn dec(&self) {
        self.0.dec();
    }

    /// What was added less what was subtracted, wrapping.
    ///
    /// Exact while nobody updates; a thread's own updates are always in it. A live sum is not a
    /// snapshot: a step up that it missed and the step down that followed, which it saw, make it
    /// show less than there ever was, by at most what is added and subtracted while it runs. So a live
    /// gauge of what cannot be negative may read below zero for a moment.
    ///
    /// Takes a relaxed load a lane.
    #[inline]
    pub fn sum(&self) -> i64 {
        self.0.sum()
    }
}

#[cfg(not(corelocal_loom))]
impl Default for PerCpuGauge {
    /// As [`PerCpuGauge::new`].
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PerCpuGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpuGauge").field("lanes", &self.0.lanes()).finish_non_exhaustive()
    }
}
