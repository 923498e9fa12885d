//! How a ring says no.

use super::PerCpuRing;
use crate::error::AllocError;
use core::fmt;

/// A ring could not be made. Nothing was allocated.
///
/// ```
/// use corelocal::{PerCpuRing, ring::RingError};
///
/// /// The capacity comes from a configuration.
/// fn ring(bytes: usize) -> Result<PerCpuRing, RingError> {
///     match PerCpuRing::try_new(bytes) {
///         Err(RingError::Capacity { right, .. }) => PerCpuRing::try_new(right),
///         other => other,
///     }
/// }
/// assert_eq!(ring(10_000)?.capacity(), 16_384);
/// # Ok::<(), RingError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RingError {
    /// The capacity is no power of two, or out of bounds.
    Capacity {
        /// Bytes a lane that were asked for.
        asked: usize,
        /// The nearest capacity that there can be and that is not smaller, or the largest one.
        right: usize,
    },
    /// There is no memory for the lanes.
    Alloc(AllocError),
}

impl From<AllocError> for RingError {
    fn from(error: AllocError) -> Self {
        Self::Alloc(error)
    }
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity { asked, right } => write!(
                f,
                "a ring of {asked} bytes a lane: ask for {right} (a power of two from {} to {})",
                PerCpuRing::LEAST_CAPACITY,
                PerCpuRing::MOST_CAPACITY
            ),
            Self::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RingError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Capacity { .. } => None,
            Self::Alloc(error) => Some(error),
        }
    }
}

/// A record was not written.
///
/// ```
/// use corelocal::{PerCpuRing, ring::WriteError};
///
/// let ring = PerCpuRing::new(256);
/// let mut lost = 0;
/// for event in 0..1000_u32 {
///     match ring.write(&event.to_le_bytes()) {
///         Ok(_) => {}
///         Err(WriteError::Full | WriteError::Busy) => lost += 1, // the ring counts them too
///         Err(error) => unreachable!("4 bytes are not too many: {error}"),
///     }
/// }
/// assert_eq!(ring.dropped(), lost);
/// let error = ring.write(&[0; 4096]).unwrap_err();
/// assert_eq!(error, WriteError::TooLarge { len: 4096, most: ring.largest_record() });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The record is larger than the ring takes. It does not count as dropped: no room that a
    /// reader makes would be enough.
    TooLarge {
        /// Its bytes.
        len: usize,
        /// The most bytes that a record of this ring has.
        most: usize,
    },
    /// This CPU's ring has no room: what is in it stays, and the record is counted as dropped.
    Full,
    /// Without a section: other threads were at work in this lane and in the spill lane. Counted
    /// as dropped.
    Busy,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { len, most } => write!(
                f,
                "a record of {len} bytes: {most} is the most that this ring takes; write several, \
                 or make the ring larger"
            ),
            Self::Full => f.write_str(
                "this CPU's ring has no room, and the record was dropped: read more often, or make \
                 the ring larger",
            ),
            Self::Busy => f.write_str(
                "other threads were writing to this CPU's ring and to the spill lane's, and the \
                 record was dropped",
            ),
        }
    }
}

impl core::error::Error for WriteError {}

/// There is a reader already: a ring has one at a time.
///
/// ```
/// use corelocal::{PerCpuRing, ring::ReaderExists};
///
/// let ring = PerCpuRing::new(4096);
/// let reader = ring.reader()?;
/// assert_eq!(ring.reader().err(), Some(ReaderExists)); // another thread reads: leave it to that one
/// drop(reader);
/// assert!(ring.reader().is_ok());
/// # Ok::<(), ReaderExists>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReaderExists;

impl fmt::Display for ReaderExists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ring has a reader already: drop that one first, or share its records")
    }
}

impl core::error::Error for ReaderExists {}
