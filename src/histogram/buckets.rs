//! [`Buckets`]: which values share a bucket; and what lies in a lane.

use crate::colocated::CoLocated;
use crate::percpu::PerCpuCell;
use core::fmt::Debug;
use core::ops::RangeInclusive;
use sealed::Layout;

/// What lies in a lane: the sum's cell, where there is one, and a cell for each bucket.
pub(super) type Lanes<const N: usize, B> = CoLocated<<B as Layout<N>>::Sum, [PerCpuCell<u64>; N]>;

/// `N` buckets that divide all values of a `u64` among them, in ascending order: [`LogLinear`],
/// [`Fixed`], and each of them [`WithSum`].
///
/// The last one is the *overflow bucket*: it has everything that is too large for the others.
/// Sealed: a histogram relies on it that every value has a bucket.
///
/// [`LogLinear`]: super::LogLinear
/// [`Fixed`]: super::Fixed
///
/// ```
/// use corelocal::PerCpuHistogram;
/// use corelocal::histogram::{Buckets, Fixed, LogLinear};
///
/// /// The slowest bucket that anything fell into, of whichever buckets.
/// fn slowest<const N: usize, B: Buckets<N>>(of: &PerCpuHistogram<N, B>) -> Option<u64> {
///     of.snapshot().max().map(|range| *range.start())
/// }
/// let (coarse, fine) = (PerCpuHistogram::<3, _>::new(Fixed::new(&[10, 100])), PerCpuHistogram::<64>::new(LogLinear));
/// coarse.record(70);
/// fine.record(70);
/// assert_eq!((slowest(&coarse), slowest(&fine)), (Some(11), Some(64)));
/// ```
pub trait Buckets<const N: usize>:
    Layout<N> + Clone + PartialEq + Debug + Send + Sync + 'static
{
    /// The bucket that `value` belongs to: below `N`.
    ///
    /// ```
    /// use corelocal::histogram::{Buckets, Fixed};
    ///
    /// const SIZES: Fixed<4> = Fixed::new(&[64, 512, 4096]);
    /// // A queue for each class of sizes, by the same bounds as the histogram beside it.
    /// let queue = ["small", "medium", "large", "huge"][SIZES.index(1500)];
    /// assert_eq!(queue, "large");
    /// ```
    fn index(&self, value: u64) -> usize;

    /// The values that belong to a bucket, both ends included; `None` if `index >= N`. The overflow
    /// bucket's end is `u64::MAX`.
    ///
    /// ```
    /// use corelocal::histogram::{Buckets, Fixed};
    ///
    /// const SIZES: Fixed<3> = Fixed::new(&[64, 512]);
    /// let heads: Vec<String> = (0..)
    ///     .map_while(|bucket| SIZES.range(bucket))
    ///     .map(|range| format!("{}..={}", range.start(), range.end()))
    ///     .collect();
    /// assert_eq!(heads[..2], ["0..=64", "65..=512"]);
    /// assert_eq!(heads.len(), 3);
    /// ```
    fn range(&self, index: usize) -> Option<RangeInclusive<u64>>;
}

/// Buckets, and beside them a cell that sums the values up exactly.
///
/// 8 bytes a lane more, and a second addition a record. It is what Prometheus calls `_sum`. The sum
/// wraps at 2^64: of nanoseconds, after 584 years.
///
/// ```
/// use corelocal::PerCpuHistogram;
/// use corelocal::histogram::{Fixed, LogLinear, WithSum};
///
/// let sizes = PerCpuHistogram::<3, _>::new(WithSum(Fixed::try_new(&[64, 1500])?));
/// [40, 64, 65, 9000].into_iter().for_each(|size| sizes.record(size));
/// let snapshot = sizes.snapshot();
/// assert_eq!((snapshot.counts(), snapshot.sum()), (&[2, 1, 1][..], Some(9169)));
///
/// let without = PerCpuHistogram::<64, LogLinear>::default();
/// assert_eq!(without.snapshot().sum(), None);
/// # Ok::<(), corelocal::BoundsError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WithSum<B>(pub B);

impl<const N: usize, B: Buckets<N>> Layout<N> for WithSum<B> {
    type Sum = PerCpuCell<u64>;
    const EXIST: () = B::EXIST;
}

impl<const N: usize, B: Buckets<N>> Buckets<N> for WithSum<B> {
    #[inline]
    fn index(&self, value: u64) -> usize {
        self.0.index(value)
    }

    fn range(&self, index: usize) -> Option<RangeInclusive<u64>> {
        self.0.range(index)
    }
}

pub(super) mod sealed {
    use crate::percpu::{PerCpuCell, PerCpuRef};
    use bytemuck::Zeroable;

    /// What a histogram needs to know of its buckets beyond what its users see.
    pub trait Layout<const N: usize> {
        /// The cell of the sum, or `()`.
        type Sum: Sum;
        /// Fails the build where there are no such `N` buckets.
        const EXIST: ();
    }

    /// A cell that sums values up, or the lack of one.
    #[allow(unreachable_pub, reason = "reached through `Layout`, which Rust 1.85 does not see")]
    pub trait Sum: Zeroable + Send + Sync + 'static {
        /// The sum of no values.
        const OF_NONE: Option<u64>;

        fn add<O>(cell: PerCpuRef<'_, Self, O>, value: u64);
        fn read<O>(cell: PerCpuRef<'_, Self, O>) -> Option<u64>;
    }

    impl Sum for () {
        const OF_NONE: Option<u64> = None;

        #[inline]
        fn add<O>(_: PerCpuRef<'_, Self, O>, _: u64) {}

        fn read<O>(_: PerCpuRef<'_, Self, O>) -> Option<u64> {
            None
        }
    }

    impl Sum for PerCpuCell<u64> {
        const OF_NONE: Option<u64> = Some(0);

        #[inline]
        fn add<O>(cell: PerCpuRef<'_, Self, O>, value: u64) {
            cell.add(value);
        }

        fn read<O>(cell: PerCpuRef<'_, Self, O>) -> Option<u64> {
            Some(cell.sum())
        }
    }
}
