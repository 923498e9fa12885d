//! Histograms that many CPUs record into and anybody reads: [`PerCpuHistogram`]. The page
//! [`docs::histograms`](crate::docs::histograms) says which buckets are wanted, and when no histogram
//! is.
//!
//! | file | what is in it |
//! |---|---|
//! | `buckets` | [`Buckets`], and [`WithSum`], which keeps the sum of the values as well |
//! | `log_linear`, `fixed` | the two kinds: [`LogLinear`] and [`Fixed`] |
//! | `handle` | [`HistogramRef`]: record and snapshot, written once |
//! | `statics` | histograms in a static |
//! | `snapshot` | [`HistogramSnapshot`]: plain numbers, added and asked |
//! | `rank` | which value a quantile means, without rounding |

mod buckets;
mod fixed;
mod handle;
mod log_linear;
mod rank;
mod snapshot;
mod statics;

pub use buckets::{Buckets, WithSum};
pub use fixed::Fixed;
pub use handle::HistogramRef;
pub use log_linear::LogLinear;
pub use snapshot::{HistogramSnapshot, QuantileError, SnapshotError};
pub use statics::StaticHistogram;

use crate::error::AllocError;
use crate::percpu::{Area, PerCpu};
use buckets::Lanes;
use core::fmt;

/// How often values fell into each of `N` buckets: recorded on each CPU's own copy, summed over all
/// of them.
///
/// 8 bytes a bucket a lane; 8 more with [`WithSum`]. [`record`](Self::record) finds the bucket
/// and adds to a [`PerCpuCell`](crate::PerCpuCell): with sections no locked instruction, no
/// allocation, no lock, no panic; safe in signal handlers, in a forked child and in the destructors
/// of thread-locals. No value is lost: what is too large for the others is in the last bucket. All
/// updates are relaxed: a histogram orders nothing.
///
/// `B` says where the buckets end: [`LogLinear`], for values of any size with a bounded relative
/// error, or [`Fixed`], for bounds of one's own. For a histogram in a static there is
/// [`StaticHistogram`].
///
/// ```
/// use corelocal::PerCpuHistogram;
/// use corelocal::histogram::LogLinear;
///
/// /// Latencies up to a second, in nanoseconds.
/// const N: usize = LogLinear::<3>::buckets_for(1_000_000_000);
/// let latency = PerCpuHistogram::<N>::new(LogLinear);
/// std::thread::scope(|scope| {
///     for thread in 1..=4 {
///         let latency = &latency;
///         scope.spawn(move || (0..1000).for_each(|_| latency.record(thread * 1000)));
///     }
/// });
/// let snapshot = latency.snapshot();
/// assert_eq!(snapshot.count(), 4000);
/// assert!(snapshot.quantile(0.5)?.contains(&2000));
/// # Ok::<(), corelocal::histogram::QuantileError>(())
/// ```
pub struct PerCpuHistogram<const N: usize, B: Buckets<N> = LogLinear> {
    lanes: PerCpu<Lanes<N, B>>,
    buckets: B,
}

impl<const N: usize, B: Buckets<N>> PerCpuHistogram<N, B> {
    /// A histogram without values, in the global area. Touches no memory of any lane.
    ///
    /// Buckets that do not exist (more than the kind has, or none) fail the build.
    ///
    /// # Panics
    ///
    /// If the system refuses memory.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{Fixed, LogLinear};
    ///
    /// let latency = PerCpuHistogram::<224>::new(LogLinear); // 12.5 %, up to a second in ns
    /// let depth = PerCpuHistogram::<4, _>::new(Fixed::new(&[0, 1, 8])); // `N` is one more than the bounds
    /// latency.record(1_000_000);
    /// depth.record(0);
    /// assert_eq!((latency.snapshot().count(), depth.snapshot().counts()[0]), (1, 1));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(buckets: B) -> Self {
        let () = const { B::EXIST };
        Self { lanes: PerCpu::zeroed(), buckets }
    }

    /// As [`PerCpuHistogram::new`].
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpuHistogram};
    /// use corelocal::histogram::LogLinear;
    ///
    /// /// One for each route, as long as there is memory.
    /// fn routes(names: &[&'static str]) -> Result<Vec<(&'static str, PerCpuHistogram<128>)>, AllocError> {
    ///     names.iter().map(|name| Ok((*name, PerCpuHistogram::try_new(LogLinear)?))).collect()
    /// }
    /// let routes = routes(&["/", "/status"])?;
    /// routes[1].1.record(3);
    /// assert_eq!((routes[0].1.snapshot().count(), routes[1].1.snapshot().count()), (0, 1));
    /// # Ok::<(), AllocError>(())
    /// ```
    pub fn try_new(buckets: B) -> Result<Self, AllocError> {
        Self::in_area(Area::global(), buckets)
    }

    /// A histogram without values in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuHistogram};
    /// use corelocal::histogram::LogLinear;
    ///
    /// let tenant = Area::builder().build()?;
    /// let latency = PerCpuHistogram::<128>::in_area(&tenant, LogLinear)?;
    /// latency.record(7);
    /// assert!(tenant.stats().live >= 128 * 8 * tenant.lanes()); // 8 bytes a bucket a lane
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_area(area: &Area, buckets: B) -> Result<Self, AllocError> {
        let () = const { B::EXIST };
        Ok(Self { lanes: area.try_alloc_zeroed()?, buckets })
    }

    /// A handle to share: `Copy`.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let latency = PerCpuHistogram::<128>::new(LogLinear);
    /// std::thread::scope(|scope| {
    ///     let handle = latency.as_ref(); // `Copy`: every thread takes one
    ///     for thread in 0..4 {
    ///         scope.spawn(move || handle.record(thread));
    ///     }
    /// });
    /// assert_eq!(latency.snapshot().count(), 4);
    /// ```
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> HistogramRef<'_, N, B> {
        HistogramRef::new(self.lanes.as_ref(), &self.buckets)
    }

    /// See [`HistogramRef::record`].
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let latency = PerCpuHistogram::<224>::new(LogLinear);
    /// let began = std::time::Instant::now();
    /// // ... a request is served ...
    /// latency.record(began.elapsed().as_nanos() as u64);
    /// assert_eq!(latency.snapshot().count(), 1);
    /// ```
    #[inline]
    pub fn record(&self, value: u64) {
        self.as_ref().record(value);
    }

    /// See [`HistogramRef::record_n`].
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// // Only one event in 16 is looked at, and stands for all of them.
    /// let sizes = PerCpuHistogram::<3, _>::new(Fixed::new(&[64, 1500]));
    /// (0..160).step_by(16).for_each(|_| sizes.record_n(1000, 16));
    /// assert_eq!(sizes.snapshot().counts(), [0, 160, 0]);
    /// ```
    #[inline]
    pub fn record_n(&self, value: u64, times: u64) {
        self.as_ref().record_n(value, times);
    }

    /// See [`HistogramRef::snapshot`].
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let latency = PerCpuHistogram::<224>::new(LogLinear);
    /// (1..=100).for_each(|value| latency.record(value * 1000));
    /// let snapshot = latency.snapshot();
    /// let (median, worst) = (snapshot.quantile(0.5)?, snapshot.quantile(0.99)?);
    /// assert!(median.contains(&50_000) && worst.contains(&99_000));
    /// # Ok::<(), corelocal::histogram::QuantileError>(())
    /// ```
    pub fn snapshot(&self) -> HistogramSnapshot<N, B> {
        self.as_ref().snapshot()
    }

    /// See [`HistogramRef::snapshot_into`].
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let (a, b) = (PerCpuHistogram::<128>::new(LogLinear), PerCpuHistogram::new(LogLinear));
    /// a.record(1);
    /// b.record_n(1, 2);
    /// // One place for the snapshots of many.
    /// let (mut one, mut all) = (a.snapshot(), a.snapshot());
    /// b.snapshot_into(&mut one);
    /// all.merge(&one)?;
    /// assert_eq!(all.count(), 3);
    /// # Ok::<(), corelocal::histogram::SnapshotError>(())
    /// ```
    pub fn snapshot_into(&self, snapshot: &mut HistogramSnapshot<N, B>) {
        self.as_ref().snapshot_into(snapshot);
    }

    /// Where the buckets end.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{Buckets, Fixed};
    ///
    /// let latency = PerCpuHistogram::<3, _>::new(Fixed::new(&[5, 50]));
    /// latency.record(6);
    /// let filled = latency.snapshot().counts().iter().position(|count| *count > 0).unwrap();
    /// assert_eq!(latency.buckets().range(filled), Some(6..=50));
    /// ```
    #[inline]
    pub fn buckets(&self) -> &B {
        &self.buckets
    }
}

impl<const N: usize, B: Buckets<N> + Default> Default for PerCpuHistogram<N, B> {
    /// As [`PerCpuHistogram::new`].
    fn default() -> Self {
        Self::new(B::default())
    }
}

impl<const N: usize, B: Buckets<N>> fmt::Debug for PerCpuHistogram<N, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt_as("PerCpuHistogram", f)
    }
}
