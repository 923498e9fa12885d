//! [`StaticHistogram`]: a histogram in a static, made at its first use.

use super::buckets::{Buckets, Lanes};
use super::{HistogramRef, HistogramSnapshot, LogLinear};
use crate::error::AllocError;
use crate::percpu::{PerCpu, PerCpuStatic};
use core::fmt;

/// A [`PerCpuHistogram`](super::PerCpuHistogram) for a static.
///
/// The memory is taken at the first use, without a lock, and never given back. A use costs one load
/// and one predictable branch more than a handle in a register.
///
/// ```
/// use corelocal::StaticHistogram;
/// use corelocal::histogram::{Fixed, LogLinear, WithSum};
///
/// static SIZES: StaticHistogram<128> = StaticHistogram::new(LogLinear);
/// static LATENCY: StaticHistogram<4, WithSum<Fixed<4>>> =
///     StaticHistogram::new(WithSum(Fixed::new(&[1, 10, 100])));
///
/// SIZES.record(1500);
/// LATENCY.record(7);
/// assert_eq!((SIZES.snapshot().count(), LATENCY.snapshot().sum()), (1, Some(7)));
/// ```
///
/// # Panics
///
/// Every use panics where the histogram is not there yet and the system refuses memory for it:
/// [`StaticHistogram::try_as_ref`] in time avoids that, and makes later uses safe in signal handlers.
pub struct StaticHistogram<const N: usize, B: Buckets<N> = LogLinear> {
    lanes: PerCpuStatic<Lanes<N, B>>,
    buckets: B,
}

impl<const N: usize, B: Buckets<N>> StaticHistogram<N, B> {
    /// A histogram without values, which takes no memory yet.
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// /// Microseconds, up to a minute.
    /// static LATENCY: StaticHistogram<{ LogLinear::<3>::buckets_for(60_000_000) }> =
    ///     StaticHistogram::new(LogLinear);
    /// LATENCY.record(250);
    /// assert_eq!(LATENCY.snapshot().count(), 1);
    /// ```
    #[must_use]
    pub const fn new(buckets: B) -> Self {
        let () = const { B::EXIST };
        Self { lanes: PerCpuStatic::new(PerCpu::try_zeroed), buckets }
    }

    /// A handle to the histogram, which is made now if this is the first use.
    ///
    /// # Panics
    ///
    /// If the system refuses memory for it.
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::{HistogramRef, LogLinear};
    ///
    /// static READ: StaticHistogram<128> = StaticHistogram::new(LogLinear);
    /// static WRITE: StaticHistogram<128> = StaticHistogram::new(LogLinear);
    /// let all: [(&str, HistogramRef<'static, 128, LogLinear>); 2] =
    ///     [("read", READ.as_ref()), ("write", WRITE.as_ref())];
    /// all[1].1.record(40);
    /// assert_eq!(all.map(|(_, histogram)| histogram.snapshot().count()), [0, 1]);
    /// ```
    #[inline]
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&'static self) -> HistogramRef<'static, N, B> {
        HistogramRef::new(self.lanes.as_ref(), &self.buckets)
    }

    /// As [`StaticHistogram::as_ref`], for those who want to know before they count on it.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the system refuses memory; the next use tries again.
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// static LATENCY: StaticHistogram<128> = StaticHistogram::new(LogLinear);
    /// // At the start, so that no request finds that there is no memory, and signal handlers may record.
    /// let latency = LATENCY.try_as_ref()?;
    /// latency.record(7);
    /// assert_eq!(LATENCY.snapshot().count(), 1);
    /// # Ok::<(), corelocal::AllocError>(())
    /// ```
    pub fn try_as_ref(&'static self) -> Result<HistogramRef<'static, N, B>, AllocError> {
        Ok(HistogramRef::new(self.lanes.try_as_ref()?, &self.buckets))
    }

    /// See [`HistogramRef::record`].
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// fn serve(request: &str) -> usize {
    ///     static SIZES: StaticHistogram<64> = StaticHistogram::new(LogLinear);
    ///     SIZES.record(request.len() as u64);
    ///     SIZES.snapshot().count() as usize
    /// }
    /// assert_eq!((serve("GET /"), serve("GET /status")), (1, 2));
    /// ```
    #[inline]
    pub fn record(&'static self, value: u64) {
        self.as_ref().record(value);
    }

    /// See [`HistogramRef::record_n`].
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// static BATCHES: StaticHistogram<3, Fixed<3>> = StaticHistogram::new(Fixed::new(&[1, 8]));
    /// BATCHES.record_n(4, 100); // a hundred batches of four
    /// assert_eq!(BATCHES.snapshot().counts(), [0, 100, 0]);
    /// ```
    #[inline]
    pub fn record_n(&'static self, value: u64, times: u64) {
        self.as_ref().record_n(value, times);
    }

    /// See [`HistogramRef::snapshot`].
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// static LATENCY: StaticHistogram<128> = StaticHistogram::new(LogLinear);
    /// assert_eq!(LATENCY.snapshot().count(), 0); // the first use
    /// LATENCY.record(9);
    /// assert!(LATENCY.snapshot().quantile(0.5)?.contains(&9));
    /// # Ok::<(), corelocal::histogram::QuantileError>(())
    /// ```
    pub fn snapshot(&'static self) -> HistogramSnapshot<N, B> {
        self.as_ref().snapshot()
    }

    /// See [`HistogramRef::snapshot_into`].
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::{HistogramSnapshot, LogLinear};
    ///
    /// static LATENCY: StaticHistogram<128> = StaticHistogram::new(LogLinear);
    /// let mut last = HistogramSnapshot::empty(LogLinear);
    /// for scrape in 1..=3 {
    ///     LATENCY.record(10);
    ///     LATENCY.snapshot_into(&mut last); // in the memory of the scrape before
    ///     assert_eq!(last.count(), scrape);
    /// }
    /// ```
    pub fn snapshot_into(&'static self, snapshot: &mut HistogramSnapshot<N, B>) {
        self.as_ref().snapshot_into(snapshot);
    }

    /// Where the buckets end.
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// static LATENCY: StaticHistogram<3, Fixed<3>> = StaticHistogram::new(Fixed::new(&[5, 50]));
    /// assert_eq!(LATENCY.buckets().bounds(), [5, 50]); // is not a use: takes no memory
    /// ```
    #[inline]
    pub const fn buckets(&self) -> &B {
        &self.buckets
    }
}

impl<const N: usize, B: Buckets<N>> fmt::Debug for StaticHistogram<N, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticHistogram").field("buckets", &N).finish_non_exhaustive()
    }
}
