//! [`HistogramSnapshot`]: a histogram's counts as plain numbers.

use super::LogLinear;
use super::buckets::Buckets;
use super::buckets::sealed::Sum;
use super::rank::rank;
use crate::percpu::PerCpuCell;
use alloc::boxed::Box;
use alloc::vec;
use core::fmt;
use core::ops::RangeInclusive;

mod error;
mod merge;

pub use error::{QuantileError, SnapshotError};

/// How many values a histogram had in each bucket.
///
/// Plain numbers, which nobody changes. Made by
/// [`PerCpuHistogram::snapshot`](super::PerCpuHistogram::snapshot).
///
/// ```
/// use corelocal::PerCpuHistogram;
/// use corelocal::histogram::{Fixed, QuantileError};
///
/// let latency = PerCpuHistogram::<4, _>::new(Fixed::new(&[1, 10, 100]));
/// assert_eq!(latency.snapshot().quantile(0.5), Err(QuantileError::Empty));
/// let before = latency.snapshot();
/// [0, 3, 4, 5, 70].into_iter().for_each(|value| latency.record(value));
///
/// let now = latency.snapshot();
/// assert_eq!(now.quantile(0.5), Ok(2..=10)); // the third of five values is one of these
/// assert_eq!(now.iter().collect::<Vec<_>>(), [(1, 1), (10, 3), (100, 1), (u64::MAX, 0)]);
/// assert_eq!(now.since(&before)?, now);      // what came in between
/// # Ok::<(), corelocal::histogram::SnapshotError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HistogramSnapshot<const N: usize, B: Buckets<N> = LogLinear> {
    buckets: B,
    counts: Box<[u64]>,
    /// The sum of the values, where one is kept.
    sum: Option<u64>,
}

impl<const N: usize, B: Buckets<N>> HistogramSnapshot<N, B> {
    /// No values: what merging begins with.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{HistogramSnapshot, LogLinear};
    ///
    /// let routes = [2, 3].map(|times| {
    ///     let latency = PerCpuHistogram::<64>::new(LogLinear);
    ///     latency.record_n(10, times);
    ///     latency
    /// });
    /// let mut all = HistogramSnapshot::empty(LogLinear);
    /// routes.iter().try_for_each(|route| all.merge(&route.snapshot()))?;
    /// assert_eq!(all.count(), 5);
    /// # Ok::<(), corelocal::histogram::SnapshotError>(())
    /// ```
    pub fn empty(buckets: B) -> Self {
        Self { buckets, counts: vec![0; N].into_boxed_slice(), sum: B::Sum::OF_NONE }
    }

    pub(super) fn clear(&mut self, buckets: B, sum: Option<u64>) {
        self.buckets = buckets;
        self.counts.fill(0);
        self.sum = sum;
    }

    pub(super) fn add_lane(&mut self, lane: &[PerCpuCell<u64>; N]) {
        for (count, cell) in self.counts.iter_mut().zip(lane) {
            *count = count.wrapping_add(cell.load());
        }
    }

    /// Where the buckets end.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// let snapshot = PerCpuHistogram::<3, _>::new(Fixed::new(&[5, 50])).snapshot();
    /// assert_eq!(snapshot.buckets().bounds(), [5, 50]); // the histogram is gone
    /// ```
    pub fn buckets(&self) -> &B {
        &self.buckets
    }

    /// The buckets' counts, in ascending order of the values. The last one is the overflow bucket's.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// let latency = PerCpuHistogram::<3, _>::new(Fixed::new(&[5, 50]));
    /// [1, 2, 6, 500].iter().for_each(|value| latency.record(*value));
    /// let snapshot = latency.snapshot();
    /// let [.., beyond] = snapshot.counts() else { unreachable!("there is a last bucket") };
    /// assert_eq!(*beyond, 1, "the bounds are too low for these");
    /// ```
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of values, in all buckets. Wraps, as each count does, at 2^64.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// let latency = PerCpuHistogram::<3, _>::new(Fixed::new(&[5, 50]));
    /// [1, 2, 6, 500].iter().for_each(|value| latency.record(*value));
    /// let snapshot = latency.snapshot();
    /// let in_time = snapshot.counts()[0] as f64 / snapshot.count() as f64;
    /// assert_eq!(in_time, 0.5);
    /// ```
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.wrapping_add(*count))
    }

    fn total(&self) -> u128 {
        self.counts.iter().map(|&count| u128::from(count)).sum()
    }

    /// The exact sum of the values, modulo 2^64; `None` without [`WithSum`](super::WithSum).
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{LogLinear, WithSum};
    ///
    /// let bytes = PerCpuHistogram::<64, WithSum<LogLinear>>::new(WithSum(LogLinear));
    /// [100, 1400].iter().for_each(|value| bytes.record(*value));
    /// assert_eq!(bytes.snapshot().sum(), Some(1500));
    /// ```
    pub fn sum(&self) -> Option<u64> {
        self.sum
    }

    /// What the sum of the values is at least, and at most, by the buckets alone.
    ///
    /// A value in the overflow bucket can be `u64::MAX`.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// let latency = PerCpuHistogram::<3, _>::new(Fixed::new(&[5, 50]));
    /// [4, 7].iter().for_each(|value| latency.record(*value));
    /// // One is from 0 to 5, the other one from 6 to 50.
    /// assert_eq!(latency.snapshot().sum_bounds(), 6..=55);
    /// ```
    pub fn sum_bounds(&self) -> RangeInclusive<u128> {
        let (mut least, mut most) = (0_u128, 0_u128);
        for (range, count) in self.occupied() {
            least = least.saturating_add(u128::from(*range.start()) * u128::from(count));
            most = most.saturating_add(u128::from(*range.end()) * u128::from(count));
        }
        least..=most
    }

    /// The mean of the values: exact but for rounding with [`WithSum`](super::WithSum), else taking
    /// each for the middle of its bucket.
    ///
    /// With [`LogLinear`] buckets the mean is then off by at most half of
    /// [`RELATIVE_ERROR`](LogLinear::RELATIVE_ERROR). `None` without values; and without a sum also
    /// where there are some in the overflow bucket, which has no middle.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{Fixed, WithSum};
    ///
    /// let latency = PerCpuHistogram::<3, _>::new(WithSum(Fixed::new(&[5, 50])));
    /// assert_eq!(latency.snapshot().mean(), None); // of nothing
    /// [4, 7, 10].iter().for_each(|value| latency.record(*value));
    /// assert_eq!(latency.snapshot().mean(), Some(7.0));
    /// ```
    pub fn mean(&self) -> Option<f64> {
        let total = self.total();
        let overflow = self.counts.last().is_some_and(|&count| count > 0);
        let sum = match self.sum {
            _ if total == 0 => return None,
            Some(sum) => sum as f64,
            None if overflow => return None,
            None => {
                let bounds = self.sum_bounds();
                (*bounds.start() as f64 + *bounds.end() as f64) / 2.0
            }
        };
        Some(sum / total as f64)
    }

    /// The values among which the smallest one is; `None` if there is none.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let latency = PerCpuHistogram::<224>::new(LogLinear);
    /// assert_eq!(latency.snapshot().min(), None);
    /// [1000, 9, 50].iter().for_each(|value| latency.record(*value));
    /// assert_eq!(latency.snapshot().min(), Some(9..=9)); // small values have a bucket each
    /// ```
    pub fn min(&self) -> Option<RangeInclusive<u64>> {
        self.occupied().next().map(|(range, _)| range)
    }

    /// The values among which the largest one is; `None` if there is none.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let latency = PerCpuHistogram::<224>::new(LogLinear);
    /// [1000, 9, 50].iter().for_each(|value| latency.record(*value));
    /// let largest = latency.snapshot().max().expect("there are values");
    /// assert!(largest.contains(&1000));
    /// ```
    pub fn max(&self) -> Option<RangeInclusive<u64>> {
        self.occupied().last().map(|(range, _)| range)
    }

    /// The values among which the quantile `q` is: the bucket of the value with the *nearest rank*
    /// `ceil(q * count)`, the smallest that a share of `q` of all values does not exceed.
    ///
    /// `q` is from 0 (the smallest value) to 1 (the largest), 0.99 the 99th percentile. The value
    /// itself is not known, but it is one of the range, so `end()` is a bound that it does not
    /// exceed. With [`LogLinear`] buckets, any number of the range differs from it by less than
    /// [`RELATIVE_ERROR`](LogLinear::RELATIVE_ERROR); the overflow bucket's range, which ends at
    /// `u64::MAX`, says that the buckets were too few. `q` is not rounded: 0.07 of 100 values is the
    /// seventh.
    ///
    /// # Errors
    ///
    /// [`QuantileError`]: `q` is not from 0 to 1, or there are no values.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{Fixed, QuantileError};
    ///
    /// let latency = PerCpuHistogram::<4, _>::new(Fixed::new(&[10, 100, 1000]));
    /// (0..99).for_each(|_| latency.record(7));
    /// latency.record(700);
    /// let snapshot = latency.snapshot();
    /// assert_eq!(snapshot.quantile(0.99)?, 0..=10);     // at most 10 ms,
    /// assert_eq!(snapshot.quantile(1.0)?, 101..=1000);  // but for one
    /// assert_eq!(snapshot.quantile(99.0), Err(QuantileError::NotAShare(99.0)));
    /// # Ok::<(), QuantileError>(())
    /// ```
    pub fn quantile(&self, q: f64) -> Result<RangeInclusive<u64>, QuantileError> {
        if !(0.0..=1.0).contains(&q) {
            return Err(QuantileError::NotAShare(q));
        }
        let total = self.total();
        let mut left = if total == 0 { return Err(QuantileError::Empty) } else { rank(q, total) };
        for (range, count) in self.occupied() {
            if left <= u128::from(count) {
                return Ok(range);
            }
            left -= u128::from(count);
        }
        unreachable!("a rank is at most the number of values");
    }

    /// Each bucket that has values: which these are, and how many.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let sizes = PerCpuHistogram::<224>::new(LogLinear);
    /// [3, 3, 8].iter().for_each(|value| sizes.record(*value));
    /// let snapshot = sizes.snapshot();
    /// let table: Vec<String> =
    ///     snapshot.occupied().map(|(range, count)| format!("{}: {count}", range.start())).collect();
    /// assert_eq!(table, ["3: 2", "8: 1"]); // and not 224 lines
    /// ```
    pub fn occupied(&self) -> impl Iterator<Item = (RangeInclusive<u64>, u64)> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.filter_map(|(index, &count)| Some((self.buckets.range(index)?, count)))
    }

    /// Each bucket's largest value and its count. The last one's is `u64::MAX`, which for
    /// Prometheus is `+Inf`.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// let latency = PerCpuHistogram::<3, _>::new(Fixed::new(&[5, 50]));
    /// latency.record_n(7, 4);
    /// let bars: String = latency.snapshot().iter().map(|(_, count)| "#".repeat(count as usize) + "\n").collect();
    /// assert_eq!(bars, "\n####\n\n");
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u64)> {
        let end = |index| self.buckets.range(index).map_or(u64::MAX, |range| *range.end());
        self.counts.iter().enumerate().map(move |(index, &count)| (end(index), count))
    }

    /// As [`iter`](Self::iter), each with the counts before it: how many values are at most so
    /// large.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// let latency = PerCpuHistogram::<3, _>::new(Fixed::new(&[5, 50]));
    /// [1, 7, 9, 99].iter().for_each(|value| latency.record(*value));
    /// let text: Vec<String> = latency
    ///     .snapshot()
    ///     .cumulative()
    ///     .map(|(end, count)| match end {
    ///         u64::MAX => format!("latency_bucket{{le=\"+Inf\"}} {count}"),
    ///         end => format!("latency_bucket{{le=\"{end}\"}} {count}"),
    ///     })
    ///     .collect();
    /// assert_eq!(text[1..], ["latency_bucket{le=\"50\"} 3", "latency_bucket{le=\"+Inf\"} 4"]);
    /// ```
    pub fn cumulative(&self) -> impl ExactSizeIterator<Item = (u64, u64)> {
        let mut so_far = 0_u64;
        self.iter().map(move |(end, count)| {
            so_far = so_far.wrapping_add(count);
            (end, so_far)
        })
    }
}

impl<const N: usize, B: Buckets<N>> fmt::Debug for HistogramSnapshot<N, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistogramSnapshot")
            .field("buckets", &N)
            .field("count", &self.count())
            .field("sum", &self.sum)
            .finish_non_exhaustive()
    }
}
