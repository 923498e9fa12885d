//! [`HistogramRef`]: what a histogram can do, written once for objects and statics.

use super::HistogramSnapshot;
use super::buckets::sealed::Sum;
use super::buckets::{Buckets, Lanes};
use crate::percpu::PerCpuRef;
use core::fmt;

/// A shared handle to a [`PerCpuHistogram`](super::PerCpuHistogram) or
/// [`StaticHistogram`](super::StaticHistogram). `Copy`.
///
/// ```
/// # use corelocal::{PerCpuHistogram, StaticHistogram};
/// use corelocal::histogram::{HistogramRef, LogLinear};
///
/// /// Times a job, wherever the histogram lies.
/// fn timed<R>(into: HistogramRef<'_, 64, LogLinear>, job: impl FnOnce() -> R) -> R {
///     let began = std::time::Instant::now();
///     let result = job();
///     into.record(began.elapsed().as_micros() as u64);
///     result
/// }
/// static ALL: StaticHistogram<64> = StaticHistogram::new(LogLinear);
/// let own = PerCpuHistogram::new(LogLinear);
/// assert_eq!(timed(ALL.as_ref(), || timed(own.as_ref(), || 7)), 7);
/// assert_eq!((ALL.snapshot().count(), own.snapshot().count()), (1, 1));
/// ```
pub struct HistogramRef<'a, const N: usize, B: Buckets<N>> {
    lanes: PerCpuRef<'a, Lanes<N, B>>,
    buckets: &'a B,
}

impl<const N: usize, B: Buckets<N>> Clone for HistogramRef<'_, N, B> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<const N: usize, B: Buckets<N>> Copy for HistogramRef<'_, N, B> {}

impl<'a, const N: usize, B: Buckets<N>> HistogramRef<'a, N, B> {
    #[inline]
    pub(super) fn new(lanes: PerCpuRef<'a, Lanes<N, B>>, buckets: &'a B) -> Self {
        Self { lanes, buckets }
    }

    /// Counts `value` in its bucket, on this CPU's copy: one addition.
    ///
    /// With [`WithSum`](super::WithSum) a second one, of the value; they are not one step. Finding the
    /// bucket takes constant time with [`LogLinear`](super::LogLinear), `log2(N)` steps with
    /// [`Fixed`](super::Fixed). Relaxed; safe in signal handlers.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let sizes = PerCpuHistogram::<64>::new(LogLinear);
    /// let handle = sizes.as_ref();
    /// ["GET /", "POST /form"].iter().for_each(|request| handle.record(request.len() as u64));
    /// assert_eq!(sizes.snapshot().count(), 2);
    /// ```
    #[inline]
    pub fn record(self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `value` so many times, with the additions of one [`record`](Self::record).
    ///
    /// Counts and the sum wrap at 2^64.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{Fixed, WithSum};
    ///
    /// // A batch that was answered together: each of its 32 requests took 7 ms.
    /// let latency = PerCpuHistogram::<3, _>::new(WithSum(Fixed::new(&[5, 50])));
    /// latency.as_ref().record_n(7, 32);
    /// assert_eq!((latency.snapshot().counts(), latency.snapshot().sum()), (&[0, 32, 0][..], Some(224)));
    /// ```
    #[inline]
    pub fn record_n(self, value: u64, times: u64) {
        let counts = self.lanes.at(Lanes::<N, B>::PART_B);
        // Every value has a bucket: `None` never is.
        if let Some(count) = counts.index(self.buckets.index(value)) {
            count.add(times);
        }
        B::Sum::add(self.lanes.at(Lanes::<N, B>::PART_A), value.wrapping_mul(times));
    }

    /// The counts of all buckets over all lanes, the spill lane included, as plain numbers.
    ///
    /// Exact while nobody records; a thread's own values are always in it. A live snapshot is not of
    /// one moment: each bucket's count has every record that was over before the snapshot began, none
    /// that began after it ended, and some of those between. A count never goes back from one
    /// snapshot to the next within one thread. The exact sum, where one is kept, is read before the
    /// counts, with the same promise; the two differ by what was recorded meanwhile.
    ///
    /// Takes a relaxed load a bucket a lane, lane by lane, and `8 * N` bytes of the heap.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{Fixed, HistogramRef};
    ///
    /// fn slow(of: HistogramRef<'_, 3, Fixed<3>>) -> u64 {
    ///     let snapshot = of.snapshot(); // asked once: two snapshots may differ
    ///     snapshot.count() - snapshot.counts()[0]
    /// }
    /// let latency = PerCpuHistogram::new(Fixed::new(&[5, 50]));
    /// [1, 2, 7, 70].iter().for_each(|value| latency.record(*value));
    /// assert_eq!(slow(latency.as_ref()), 2);
    /// ```
    pub fn snapshot(self) -> HistogramSnapshot<N, B> {
        let mut snapshot = HistogramSnapshot::empty(self.buckets.clone());
        self.snapshot_into(&mut snapshot);
        snapshot
    }

    /// As [`HistogramRef::snapshot`], in the place of an earlier one, whose memory it takes.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{HistogramSnapshot, LogLinear};
    ///
    /// let latency = PerCpuHistogram::<64>::new(LogLinear);
    /// let handle = latency.as_ref();
    /// let mut now = HistogramSnapshot::empty(LogLinear);
    /// for second in 1..=3 {
    ///     handle.record(second);
    ///     handle.snapshot_into(&mut now); // no allocation a second
    ///     assert_eq!(now.count(), second);
    /// }
    /// ```
    pub fn snapshot_into(self, snapshot: &mut HistogramSnapshot<N, B>) {
        let sum = B::Sum::read(self.lanes.at(Lanes::<N, B>::PART_A));
        snapshot.clear(self.buckets.clone(), sum);
        // Lane by lane: each is a piece of memory of its own.
        for (_, lane) in self.lanes {
            snapshot.add_lane(lane.b());
        }
    }

    /// Where the buckets end.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// let latency = PerCpuHistogram::<3, _>::new(Fixed::new(&[5, 50]));
    /// assert_eq!(latency.as_ref().buckets().bounds(), [5, 50]);
    /// ```
    #[inline]
    pub fn buckets(self) -> &'a B {
        self.buckets
    }

    pub(super) fn fmt_as(self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("buckets", &N)
            .field("lanes", &self.lanes.lanes())
            .finish_non_exhaustive()
    }
}

impl<const N: usize, B: Buckets<N>> fmt::Debug for HistogramRef<'_, N, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as("HistogramRef", f)
    }
}
