//! Snapshots that are added, and subtracted.

use super::{HistogramSnapshot, SnapshotError};
use crate::histogram::buckets::Buckets;

impl<const N: usize, B: Buckets<N>> HistogramSnapshot<N, B> {
    /// Adds the counts of `other`, of another histogram or another process.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`], with nothing changed: the buckets end elsewhere, or there are 2^64 values
    /// or more together.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::{Fixed, SnapshotError};
    ///
    /// let of = |bounds: &[u64]| PerCpuHistogram::<3, _>::new(Fixed::try_new(bounds).unwrap()).snapshot();
    /// let mut all = of(&[5, 50]);
    /// all.merge(&of(&[5, 50]))?;
    /// let refused = all.merge(&of(&[5, 60])); // of a process with another configuration
    /// assert_eq!(refused, Err(SnapshotError::OtherBuckets { bucket: 1, here: 50, there: 60 }));
    /// # Ok::<(), SnapshotError>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<(), SnapshotError> {
        self.same_buckets(other)?;
        if self.total() + other.total() > u128::from(u64::MAX) {
            return Err(SnapshotError::TooMany);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum = self.sum.zip(other.sum).map(|(sum, more)| sum.wrapping_add(more));
        Ok(())
    }

    /// What came since `earlier`, a snapshot of the same histogram.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`]: the buckets end elsewhere, or one of them had more values earlier.
    ///
    /// ```
    /// # use corelocal::PerCpuHistogram;
    /// use corelocal::histogram::LogLinear;
    ///
    /// let latency = PerCpuHistogram::<224>::new(LogLinear);
    /// latency.record_n(10, 1000);
    /// let minute_ago = latency.snapshot();
    /// latency.record(5000);
    /// let last_minute = latency.snapshot().since(&minute_ago)?;
    /// assert_eq!(last_minute.count(), 1); // not lost among the thousand
    /// # Ok::<(), corelocal::histogram::SnapshotError>(())
    /// ```
    pub fn since(&self, earlier: &Self) -> Result<Self, SnapshotError> {
        self.same_buckets(earlier)?;
        let mut rest = self.clone();
        for (bucket, (count, before)) in rest.counts.iter_mut().zip(&earlier.counts).enumerate() {
            let (now, before) = (*count, *before);
            let left = now.checked_sub(before);
            *count = left.ok_or(SnapshotError::NotEarlier { bucket, before, now })?;
        }
        rest.sum = self.sum.zip(earlier.sum).map(|(sum, before)| sum.wrapping_sub(before));
        Ok(rest)
    }

    fn same_buckets(&self, other: &Self) -> Result<(), SnapshotError> {
        if self.buckets == other.buckets {
            return Ok(());
        }
        let ends = self.iter().zip(other.iter()).map(|((here, _), (there, _))| (here, there));
        let differs = ends.enumerate().find(|(_, (here, there))| here != there);
        match differs {
            Some((bucket, (here, there))) => {
                Err(SnapshotError::OtherBuckets { bucket, here, there })
            }
            None => Ok(()),
        }
    }
}
