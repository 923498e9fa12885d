//! [`Fixed`]: buckets that end where their user says.

use super::buckets::Buckets;
use super::buckets::sealed::Layout;
use crate::error::BoundsError;
use core::ops::RangeInclusive;

/// Buckets with upper bounds of one's own: `N - 1` bounds, and the overflow bucket.
///
/// A bound belongs to its bucket, as Prometheus' `le` does. A value's bucket is found by binary
/// search, in `log2(N)` steps.
///
/// ```
/// use corelocal::histogram::{Buckets, Fixed};
///
/// /// Milliseconds. A mistake in the bounds of a constant fails the build.
/// const LATENCY: Fixed<5> = Fixed::new(&[1, 5, 25, 100]);
/// assert_eq!(LATENCY.index(25), 2);
/// assert_eq!(LATENCY.range(2), Some(6..=25));
/// assert_eq!(LATENCY.range(4), Some(101..=u64::MAX));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fixed<const N: usize> {
    /// The last value of each bucket, ascending. The last one is `u64::MAX`.
    last: [u64; N],
}

impl<const N: usize> Fixed<N> {
    /// Buckets that end at `bounds`, and the overflow bucket.
    ///
    /// # Errors
    ///
    /// [`BoundsError`]: not `N - 1` bounds, one that is not larger than the one before, or one that
    /// leaves nothing to the overflow bucket.
    ///
    /// ```
    /// use corelocal::BoundsError;
    /// use corelocal::histogram::Fixed;
    /// let wrong = Fixed::<4>::try_new(&[10, 20, 20]);
    /// assert_eq!(wrong, Err(BoundsError::NotAscending { at: 2, before: 20, bound: 20 }));
    /// assert_eq!(Fixed::<4>::try_new(&[10]), Err(BoundsError::Count { given: 1, wanted: 3 }));
    /// ```
    pub const fn try_new(bounds: &[u64]) -> Result<Self, BoundsError> {
        let () = <Self as Layout<N>>::EXIST;
        if bounds.len() != N - 1 {
            return Err(BoundsError::Count { given: bounds.len(), wanted: N - 1 });
        }
        let mut last = [u64::MAX; N];
        let mut at = 0;
        while at < bounds.len() {
            if at > 0 && bounds[at] <= bounds[at - 1] {
                let (before, bound) = (bounds[at - 1], bounds[at]);
                return Err(BoundsError::NotAscending { at, before, bound });
            }
            if bounds[at] == u64::MAX {
                return Err(BoundsError::NothingBeyond { at });
            }
            last[at] = bounds[at];
            at += 1;
        }
        Ok(Self { last })
    }

    /// As [`Fixed::try_new`], for constants and statics.
    ///
    /// # Panics
    ///
    /// Where `try_new` is an error; in a constant the build fails.
    ///
    /// ```
    /// # use corelocal::StaticHistogram;
    /// use corelocal::histogram::Fixed;
    ///
    /// // A mistake in the bounds fails the build here.
    /// static LATENCY: StaticHistogram<4, Fixed<4>> = StaticHistogram::new(Fixed::new(&[1, 10, 100]));
    /// LATENCY.record(100);
    /// assert_eq!(LATENCY.snapshot().counts(), [0, 0, 1, 0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn new(bounds: &[u64]) -> Self {
        match Self::try_new(bounds) {
            Ok(fixed) => fixed,
            Err(BoundsError::Count { .. }) => {
                panic!("Fixed<N>: N - 1 bounds, one fewer than buckets")
            }
            Err(BoundsError::NotAscending { .. }) => panic!("Fixed<N>: bounds ascend"),
            Err(BoundsError::NothingBeyond { .. }) => panic!("Fixed<N>: bounds below u64::MAX"),
        }
    }

    /// The bounds: each bucket's last value, without the overflow bucket's.
    ///
    /// ```
    /// use corelocal::histogram::Fixed;
    ///
    /// const LATENCY: Fixed<4> = Fixed::new(&[1, 10, 100]);
    /// let labels: Vec<String> = LATENCY.bounds().iter().map(|bound| format!("le=\"{bound}\"")).collect();
    /// assert_eq!(labels, ["le=\"1\"", "le=\"10\"", "le=\"100\""]); // and `+Inf`
    /// ```
    #[inline]
    pub fn bounds(&self) -> &[u64] {
        &self.last[..N - 1]
    }
}

impl<const N: usize> Layout<N> for Fixed<N> {
    type Sum = ();
    const EXIST: () = assert!(0 < N, "Fixed<N>: there is an overflow bucket at least, so 0 < N");
}

impl<const N: usize> Buckets<N> for Fixed<N> {
    #[inline]
    fn index(&self, value: u64) -> usize {
        self.bounds().partition_point(|&bound| bound < value)
    }

    fn range(&self, index: usize) -> Option<RangeInclusive<u64>> {
        let end = *self.last.get(index)?;
        // Every bound but the last one is below `u64::MAX`.
        let begin = if index == 0 { 0 } else { self.last[index - 1] + 1 };
        Some(begin..=end)
    }
}
