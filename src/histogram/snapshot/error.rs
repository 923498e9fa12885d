//! How a snapshot says no.

use core::fmt;

/// Two snapshots cannot be added, or subtracted.
///
/// ```
/// # use corelocal::PerCpuHistogram;
/// use corelocal::histogram::{LogLinear, SnapshotError};
///
/// let latency = PerCpuHistogram::<224>::new(LogLinear);
/// let first = latency.snapshot();
/// latency.record(3);
/// let error = first.since(&latency.snapshot()).unwrap_err(); // the wrong way round
/// assert_eq!(error, SnapshotError::NotEarlier { bucket: 3, before: 1, now: 0 });
/// assert!(latency.snapshot().since(&first).is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SnapshotError {
    /// They are of histograms with different bounds.
    OtherBuckets {
        /// The first bucket that differs, from 0.
        bucket: usize,
        /// Its largest value in the snapshot that was called.
        here: u64,
        /// Its largest value in the other one.
        there: u64,
    },
    /// Together they have 2^64 values or more.
    TooMany,
    /// The one that should be the earlier one has more values in a bucket.
    NotEarlier {
        /// The first such bucket, from 0.
        bucket: usize,
        /// Its count in what should be the earlier one.
        before: u64,
        /// Its count in the other one.
        now: u64,
    },
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OtherBuckets { bucket, here, there } => write!(
                f,
                "bucket {bucket} ends at {here} here and at {there} there; only snapshots with the \
                 same bounds can be added"
            ),
            Self::TooMany => f.write_str("there are 2^64 values or more; add fewer snapshots"),
            Self::NotEarlier { bucket, before, now } => write!(
                f,
                "bucket {bucket} has {now} values and had {before}; subtract the earlier snapshot \
                 of the same histogram"
            ),
        }
    }
}

impl core::error::Error for SnapshotError {}

/// There is no such quantile.
///
/// ```
/// # use corelocal::PerCpuHistogram;
/// use corelocal::histogram::{LogLinear, QuantileError};
///
/// let latency = PerCpuHistogram::<224>::new(LogLinear);
/// let shown = |share: f64| match latency.snapshot().quantile(share) {
///     Ok(range) => range.end().to_string(),
///     Err(QuantileError::Empty) => String::from("-"), // nothing came yet
///     Err(error) => error.to_string(),
/// };
/// assert_eq!(shown(0.99), "-");
/// latency.record(7);
/// assert_eq!(shown(0.99), "7");
/// assert!(shown(99.0).contains("99"));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum QuantileError {
    /// This is not a number from 0 to 1.
    NotAShare(f64),
    /// There are no values.
    Empty,
}

impl fmt::Display for QuantileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotAShare(q) => {
                write!(f, "{q} is not a share; a quantile is from 0 to 1, the 99th percentile 0.99")
            }
            Self::Empty => f.write_str("no values were recorded; record one first"),
        }
    }
}

impl core::error::Error for QuantileError {}
