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
    ///
    /// ```
    /// # use corelocal::PerCpuGauge;
    /// struct Pool { idle: PerCpuGauge, busy: PerCpuGauge }
    /// let pool = Pool { idle: PerCpuGauge::new(), busy: PerCpuGauge::new() };
    /// pool.idle.add(8);
    /// pool.busy.inc();
    /// pool.idle.dec();
    /// assert_eq!((pool.idle.sum(), pool.busy.sum()), (7, 1));
    /// ```
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
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpuGauge};
    /// /// Works without a gauge where there is no memory for one.
    /// let open: Option<PerCpuGauge> = PerCpuGauge::try_new()
    ///     .inspect_err(|error: &AllocError| eprintln!("connections are not counted: {error}"))
    ///     .ok();
    /// if let Some(open) = &open {
    ///     open.inc();
    ///     assert_eq!(open.sum(), 1);
    /// }
    /// ```
    #[cfg(not(corelocal_loom))]
    pub fn try_new() -> Result<Self, AllocError> {
        Self::in_area(Area::global())
    }

    /// A gauge of zero in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuGauge};
    /// let plugin = Area::builder().build()?;
    /// let open = PerCpuGauge::in_area(&plugin)?;
    /// open.add(2);
    /// assert_eq!((open.sum(), plugin.stats().live), (2, 8 * plugin.lanes()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_area(area: &Area) -> Result<Self, AllocError> {
        zeros(area).map(Self)
    }

    /// A handle to share: one word, `Copy`, with the same operations.
    ///
    /// ```
    /// # use corelocal::{PerCpuCell, PerCpuGauge, PerCpuRef};
    /// /// Counts itself for as long as it lives.
    /// struct Connection<'a>(PerCpuRef<'a, PerCpuCell<i64>>);
    /// impl Drop for Connection<'_> {
    ///     fn drop(&mut self) {
    ///         self.0.dec();
    ///     }
    /// }
    /// let open = PerCpuGauge::new();
    /// open.inc();
    /// let connection = Connection(open.as_ref());
    /// assert_eq!(open.sum(), 1);
    /// drop(connection);
    /// assert_eq!(open.sum(), 0);
    /// ```
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> PerCpuRef<'_, PerCpuCell<i64>> {
        self.0.as_ref()
    }

    /// Raises the gauge by `value`, wrapping, on this CPU's copy.
    ///
    /// ```
    /// # use corelocal::PerCpuGauge;
    /// let in_use = PerCpuGauge::new();
    /// let buffer = vec![0_u8; 4096];
    /// in_use.add(buffer.len() as i64);
    /// assert_eq!(in_use.sum(), 4096);
    /// ```
    #[inline]
    pub fn add(&self, value: i64) {
        self.0.add(value);
    }

    /// Lowers the gauge by `value`, wrapping, on this CPU's copy.
    ///
    /// ```
    /// # use corelocal::PerCpuGauge;
    /// let in_use = PerCpuGauge::new();
    /// in_use.add(4096);
    /// std::thread::scope(|scope| { scope.spawn(|| in_use.sub(4096)); }); // freed on another CPU
    /// assert_eq!(in_use.sum(), 0);
    /// ```
    #[inline]
    pub fn sub(&self, value: i64) {
        self.0.sub(value);
    }

    /// Raises the gauge by one.
    ///
    /// ```
    /// # use corelocal::PerCpuGauge;
    /// let waiting = PerCpuGauge::new();
    /// waiting.inc();
    /// waiting.inc();
    /// assert_eq!(waiting.sum(), 2);
    /// ```
    #[inline]
    pub fn inc(&self) {
        self.0.inc();
    }

    /// Lowers the gauge by one.
    ///
    /// ```
    /// # use corelocal::PerCpuGauge;
    /// let credit = PerCpuGauge::new();
    /// credit.add(10);
    /// (0..12).for_each(|_| credit.dec());
    /// assert_eq!(credit.sum(), -2); // signed
    /// ```
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
    ///
    /// ```
    /// # use corelocal::PerCpuGauge;
    /// let open = PerCpuGauge::new();
    /// open.add(3);
    /// // A live gauge may read below zero for a moment: shown to people, it should not.
    /// let shown = open.sum().max(0);
    /// assert_eq!(shown, 3);
    /// ```
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
