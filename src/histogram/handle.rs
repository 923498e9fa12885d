//! [`HistogramRef`]: what a histogram can do, written once for objects and statics.

use super::HistogramSnapshot;
use super::buckets::sealed::Sum;
use super::buckets::{Buckets, Lanes};
use crate::percpu::PerCpuRef;
use core::fmt;

/// A shared handle to a [`PerCpuHistogram`](super::PerCpuHistogram) or
/// [`StaticHistogram`](super::StaticHistogram). `Copy`.
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
    #[inline]
    pub fn record(self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `value` so many times, with the additions of one [`record`](Self::record).
    ///
    /// Counts and the sum wrap at 2^64.
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
    pub fn snapshot(self) -> HistogramSnapshot<N, B> {
        let mut snapshot = HistogramSnapshot::empty(self.buckets.clone());
        self.snapshot_into(&mut snapshot);
        snapshot
    }

    /// As [`HistogramRef::snapshot`], in the place of an earlier one, whose memory it takes.
    pub fn snapshot_into(self, snapshot: &mut HistogramSnapshot<N, B>) {
        let sum = B::Sum::read(self.lanes.at(Lanes::<N, B>::PART_A));
        snapshot.clear(self.buckets.clone(), sum);
        // Lane by lane: each is a piece of memory of its own.
        for (_, lane) in self.lanes {
            snapshot.add_lane(lane.b());
        }
    }

    /// Where the buckets end.
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
