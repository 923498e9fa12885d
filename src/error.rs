//! Every way in which a constructor can fail.

use crate::cpu::Lane;
use core::fmt;

/// Memory for a per-CPU object could not be had. Nothing was allocated.
///
/// ```
/// use corelocal::{AllocError, Area, PerCpuCell};
///
/// let small = Area::builder().capacity(4096).build()?;
/// match small.try_alloc_zeroed::<PerCpuCell<u64>>() {
///     Err(AllocError::AreaFull { capacity }) => assert_eq!(capacity, 4096), // build it larger
///     Err(error) => eprintln!("{error}"), // says which limit to raise
///     Ok(_) => unreachable!("a chunk takes 68 KiB a lane"),
/// }
/// # Ok::<(), corelocal::AreaError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AllocError {
    /// `size` bytes aligned to `align`, `lanes` times, do not fit the address space.
    CapacityOverflow {
        /// Bytes of one copy.
        size: usize,
        /// Alignment of one copy, in bytes.
        align: usize,
        /// Copies asked for.
        lanes: usize,
    },
    /// The system refused to map `bytes` of address space (a limit, or none left).
    OutOfMemory {
        /// Bytes asked of the system.
        bytes: usize,
    },
    /// The area may not grow beyond `capacity` reserved bytes (see `AreaBuilder::capacity`).
    AreaFull {
        /// The area's ceiling, in bytes.
        capacity: usize,
    },
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CapacityOverflow { size, align, lanes } => write!(
                f,
                "{lanes} copies of {size} bytes aligned to {align} do not fit the address space; \
                 use a smaller type or fewer lanes"
            ),
            Self::OutOfMemory { bytes } => write!(
                f,
                "the system refused {bytes} bytes of address space; raise the limit \
                 (ulimit -v, ulimit -d, overcommit) or free other objects"
            ),
            Self::AreaFull { capacity } => write!(
                f,
                "the area is at its capacity of {capacity} bytes; free objects or build it larger"
            ),
        }
    }
}

impl core::error::Error for AllocError {}

/// An area cannot have the settings that were asked for.
///
/// ```
/// use corelocal::{Area, AreaError};
///
/// let refused = Area::builder().cpus(u32::MAX).build().unwrap_err();
/// let AreaError::TooManyCpus { most, .. } = refused else { unreachable!("{refused}") };
/// let largest = Area::builder().cpus(most).build()?; // reserves nothing before its first object
/// assert_eq!(largest.lanes(), most as usize + 1);
/// # Ok::<(), AreaError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AreaError {
    /// Fewer CPU lanes than the machine has CPUs.
    TooFewCpus {
        /// CPU lanes asked for.
        asked: u32,
        /// CPU lanes that this machine needs.
        machine: u32,
    },
    /// More CPU lanes than the crate numbers.
    TooManyCpus {
        /// CPU lanes asked for.
        asked: u32,
        /// The most there can be.
        most: u32,
    },
}

impl fmt::Display for AreaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooFewCpus { asked, machine } => write!(
                f,
                "{asked} CPU lanes are too few: CPU ids of this machine go up to {}; \
                 ask for {machine} at least",
                machine - 1
            ),
            Self::TooManyCpus { asked, most } => {
                write!(f, "{asked} CPU lanes are too many; ask for {most} at most")
            }
        }
    }
}

impl core::error::Error for AreaError {}

/// A histogram cannot have the bounds that were asked for.
///
/// ```
/// use corelocal::BoundsError;
/// use corelocal::histogram::Fixed;
///
/// /// Bounds from a configuration: in any order, some of them twice.
/// fn buckets(mut bounds: Vec<u64>) -> Result<Fixed<4>, BoundsError> {
///     bounds.sort();
///     bounds.dedup();
///     Fixed::try_new(&bounds)
/// }
/// assert_eq!(buckets(vec![10, 1, 100, 10])?.bounds(), [1, 10, 100]);
/// assert_eq!(buckets(vec![1, 10]), Err(BoundsError::Count { given: 2, wanted: 3 }));
/// # Ok::<(), BoundsError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BoundsError {
    /// Not one bound fewer than there are buckets.
    Count {
        /// Bounds that were given.
        given: usize,
        /// Bounds that the buckets have.
        wanted: usize,
    },
    /// A bound that is not above the one before it.
    NotAscending {
        /// Its place among the bounds, from 0.
        at: usize,
        /// The bound before it.
        before: u64,
        /// The bound.
        bound: u64,
    },
    /// A bound of `u64::MAX`, beyond which there is nothing.
    NothingBeyond {
        /// Its place among the bounds, from 0.
        at: usize,
    },
}

impl fmt::Display for BoundsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count { given, wanted } => write!(
                f,
                "{given} bounds for {} buckets; give {wanted}: the last bucket has none",
                wanted + 1
            ),
            Self::NotAscending { at, before, bound } => write!(
                f,
                "bound {at} is {bound}, after {before}; sort the bounds, and give each once"
            ),
            Self::NothingBeyond { at } => write!(
                f,
                "bound {at} is the largest value there is; leave it out: the last bucket has what \
                 is beyond all bounds"
            ),
        }
    }
}

impl core::error::Error for BoundsError {}

/// A per-CPU object could not be made: no memory, or an initialiser said no.
///
/// The copies that were already made have been dropped, and the memory returned.
///
/// ```
/// use corelocal::{InitError, PerCpu};
/// use std::fs::File;
///
/// let files = PerCpu::try_new_with(|lane| File::open(format!("/no/such/file.{}", lane.index())));
/// match files.map(drop) {
///     Err(InitError::Init { lane, error }) => {
///         assert_eq!((lane.index(), error.kind()), (0, std::io::ErrorKind::NotFound));
///     }
///     other => unreachable!("{other:?}"),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InitError<E> {
    /// There was no memory; no initialiser ran.
    Alloc(AllocError),
    /// The initialiser of `lane` returned `error`.
    Init {
        /// The lane whose initialiser failed.
        lane: Lane,
        /// What it returned.
        error: E,
    },
}

impl<E> From<AllocError> for InitError<E> {
    fn from(error: AllocError) -> Self {
        Self::Alloc(error)
    }
}

impl<E: fmt::Display> fmt::Display for InitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alloc(error) => error.fmt(f),
            Self::Init { lane, error } => write!(f, "initialising lane {}: {error}", lane.index()),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for InitError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Alloc(error) => Some(error),
            Self::Init { error, .. } => Some(error),
        }
    }
}

/// The operation did not commit on the CPU that was asked for: the thread runs elsewhere.
///
/// Nothing was changed. The caller decides: try again, take another CPU, or go to the spill lane.
///
/// ```
/// use corelocal::{CpuId, Moved, PerCpu, PerCpuCell};
///
/// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
/// let gone = CpuId::new(u32::MAX);
/// assert_eq!(hits.add_on(gone, 1), Err(Moved)); // nothing was changed,
/// hits.add(1);                                  // so it can be counted where the thread is
/// assert_eq!(hits.sum(), 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved;

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the thread does not run on the CPU that was asked for; nothing was changed")
    }
}

impl core::error::Error for Moved {}

/// A batched counter could not be made. Nothing was allocated.
///
/// ```
/// use corelocal::{BatchError, BatchedCounter};
///
/// let asked = 100;
/// let counter = match BatchedCounter::with_batch(asked) {
///     Err(BatchError::Batch { most, .. }) => {
///         BatchedCounter::with_batch(asked.next_power_of_two().min(most))?
///     }
///     other => other?,
/// };
/// counter.add(1000);
/// assert_eq!(counter.sum(), 1000);
/// # Ok::<(), BatchError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BatchError {
    /// The batch is no power of two, or larger than `most`.
    Batch {
        /// The batch asked for.
        asked: u64,
        /// The largest there can be, a power of two.
        most: u64,
    },
    /// There was no memory.
    Alloc(AllocError),
}

impl From<AllocError> for BatchError {
    fn from(error: AllocError) -> Self {
        Self::Alloc(error)
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch { asked, most } => {
                write!(f, "a batch of {asked}; ask for a power of two from 1 to {most}")
            }
            Self::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BatchError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Batch { .. } => None,
            Self::Alloc(error) => Some(error),
        }
    }
}

/// The count would have passed the limit that was asked for. Nothing was added.
///
/// ```
/// use corelocal::{BatchedCounter, OverLimit};
///
/// let memory = BatchedCounter::new();
/// memory.limited_add(60, 100)?;
/// let refused = memory.limited_add(50, 100).unwrap_err();
/// assert_eq!(refused, OverLimit { value: 50, limit: 100 });
/// memory.limited_add(40, 100)?; // less fits
/// # Ok::<(), OverLimit>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverLimit {
    /// What was to be added.
    pub value: u64,
    /// What the count may not pass.
    pub limit: i64,
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, limit } = self;
        write!(
            f,
            "{value} more would pass the limit of {limit}; nothing was added: add less, or wait"
        )
    }
}

impl core::error::Error for OverLimit {}
