//! [`LogLinear`]: buckets that grow with the values, found without a search.

use super::buckets::Buckets;
use super::buckets::sealed::Layout;
use core::ops::RangeInclusive;

/// Log-linear buckets: each range from a power of two to the next is cut into `2^BITS` equal parts.
///
/// Values below `2^(BITS + 1)` have a bucket each. Above, a bucket's width is at most its smallest
/// value divided by `2^BITS`; so two values of one bucket differ by less than
///
/// | `BITS` | relative difference | buckets for 1 s in ns | for 1 h in ns | for all of `u64` |
/// |---|---|---|---|---|
/// | 2 | 25 % | 117 | 164 | 252 |
/// | 3 (default) | 12.5 % | 224 | 319 | 496 |
/// | 4 | 6.3 % | 431 | 620 | 976 |
/// | 5 | 3.2 % | 829 | 1206 | 1920 |
/// | 7 | 0.8 % | 3056 | 4563 | 7424 |
///
/// (with the overflow bucket). With `shift` the number of bits that a value has beyond the first
/// `BITS + 1`, which are kept, the bucket is
///
/// ```text
/// shift = max(floor(log2(value)), BITS) - BITS
/// index = (shift << BITS) + (value >> shift)
/// ```
///
/// capped to `N - 1`: constant time, a count of leading zeros and two shifts.
///
/// The formula is that of H2 histograms (<https://h2histogram.org>), the buckets are those of
/// HdrHistogram (Gil Tene, <https://hdrhistogram.github.io/HdrHistogram/>), whose two significant
/// digits are `BITS = 7` and whose one is `BITS = 4`.
///
/// ```
/// use corelocal::PerCpuHistogram;
/// use corelocal::histogram::LogLinear;
///
/// type Fine = LogLinear<5>;
/// let micros = PerCpuHistogram::<{ Fine::buckets_for(60_000_000) }, Fine>::new(LogLinear);
/// micros.record(1_000_000);
/// assert_eq!(micros.snapshot().min(), Some(999_424..=1_015_807));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogLinear<const BITS: u32 = 3>;

impl<const BITS: u32> LogLinear<BITS> {
    /// As many buckets as it takes for every value of a `u64` to have a proper one; more do not
    /// exist.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// // No overflow: every value has its bucket, at 4 KiB a lane.
    /// let any = PerCpuHistogram::<{ LogLinear::<3>::MOST }>::new(LogLinear);
    /// any.record(u64::MAX);
    /// assert!(any.snapshot().max().is_some_and(|range| *range.start() > u64::MAX / 16 * 15));
    /// assert_eq!(LogLinear::<3>::MOST, 496);
    /// ```
    pub const MOST: usize = {
        assert!(BITS <= 16, "LogLinear: BITS is at most 16 (65536 buckets a power of two)");
        (65 - BITS as usize) << BITS
    };

    /// Two values of one bucket, unless it is the overflow bucket, differ by less than this part of
    /// the smaller one.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let latency = PerCpuHistogram::<512, LogLinear<4>>::new(LogLinear);
    /// latency.record(1_000_000);
    /// let median = latency.snapshot().quantile(0.5)?;
    /// let off = (*median.end() as f64 - 1_000_000.0) / 1_000_000.0;
    /// assert!(off < LogLinear::<4>::RELATIVE_ERROR); // 6.3 %
    /// # Ok::<(), corelocal::histogram::QuantileError>(())
    /// ```
    pub const RELATIVE_ERROR: f64 = 1.0 / (1_u64 << BITS) as f64;

    /// How many buckets it takes, the overflow bucket included, for values up to `largest` to have a
    /// proper one.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// /// A minute in microseconds.
    /// const N: usize = LogLinear::<3>::buckets_for(60_000_000);
    /// let latency = PerCpuHistogram::<N>::new(LogLinear);
    /// latency.record(60_000_000);
    /// let largest = latency.snapshot().max().expect("there is one");
    /// assert!(*largest.end() < u64::MAX, "in a proper bucket, not in the overflow bucket");
    /// ```
    pub const fn buckets_for(largest: u64) -> usize {
        let needed = Self::place(largest) + 2;
        // The topmost bucket ends at `u64::MAX`: it is both.
        if needed < Self::MOST { needed } else { Self::MOST }
    }

    /// The bucket of `value`, if there are all of them.
    #[inline]
    const fn place(value: u64) -> usize {
        let shift = 63 - (value | 1 << BITS).leading_zeros() - BITS;
        ((shift as usize) << BITS) + (value >> shift) as usize
    }

    /// The smallest value of a bucket, and the number of its low bits that do not matter.
    const fn begin(index: usize) -> (u64, u32) {
        // The ranges 0 and 1 have one width.
        let shift = (index >> BITS).saturating_sub(1);
        (((index - (shift << BITS)) as u64) << shift, shift as u32)
    }
}

impl<const N: usize, const BITS: u32> Layout<N> for LogLinear<BITS> {
    type Sum = ();
    const EXIST: () = assert!(
        0 < N && N <= Self::MOST,
        "LogLinear: N buckets do not exist: at least 1, at most LogLinear::<BITS>::MOST"
    );
}

impl<const N: usize, const BITS: u32> Buckets<N> for LogLinear<BITS> {
    #[inline]
    fn index(&self, value: u64) -> usize {
        let () = const { <Self as Layout<N>>::EXIST };
        Self::place(value).min(N - 1)
    }

    fn range(&self, index: usize) -> Option<RangeInclusive<u64>> {
        let () = const { <Self as Layout<N>>::EXIST };
        let (begin, shift) = if index < N { Self::begin(index) } else { return None };
        Some(begin..=if index < N - 1 { begin + ((1 << shift) - 1) } else { u64::MAX })
    }
}
