//! How a pool says no.

use crate::error::AllocError;
use core::fmt;

/// A pool could not be built. Nothing was allocated.
///
/// ```
/// use corelocal::{PerCpuPool, pool::BuildError};
///
/// /// A lane's length from a configuration.
/// fn pool(mut lane: usize) -> Result<PerCpuPool<String>, BuildError> {
///     loop {
///         match PerCpuPool::builder(String::new).lane_capacity(lane).build() {
///             Err(BuildError::LaneCapacity { asked }) if asked % 2 == 1 => lane = asked + 1,
///             other => return other,
///         }
///     }
/// }
/// assert_eq!(pool(7)?.lane_capacity(), 8);
/// # Ok::<(), BuildError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no memory for the lanes.
    Alloc(AllocError),
    /// A lane holds two lists of equal length; see
    /// [`lane_capacity`](super::PoolBuilder::lane_capacity).
    LaneCapacity {
        /// What was asked for.
        asked: usize,
    },
    /// More objects at the beginning than the pool may keep, or has room for.
    Prefill {
        /// What was asked for.
        asked: usize,
        /// The most there can be.
        most: usize,
    },
}

impl From<AllocError> for BuildError {
    fn from(error: AllocError) -> Self {
        Self::Alloc(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Alloc(ref error) => error.fmt(f),
            Self::LaneCapacity { asked } => write!(
                f,
                "a lane of {asked} objects: ask for an even number from 2 to {}",
                super::PoolBuilder::<()>::MOST_IN_A_LANE
            ),
            Self::Prefill { asked, most } => write!(
                f,
                "{asked} objects at the beginning are too many for the pool's bounds: \
                 ask for {most} at most, or raise the bounds"
            ),
        }
    }
}

impl core::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Alloc(error) => Some(error),
            _ => None,
        }
    }
}

/// No idle object was found, and the pool keeps as many objects as it may.
///
/// ```
/// use corelocal::{PerCpuPool, pool::Exhausted};
///
/// let connections = PerCpuPool::builder(String::new).capacity(2).build()?;
/// let in_use = [connections.get(), connections.get()];
/// let refused: Exhausted = connections.try_get().unwrap_err();
/// assert_eq!(refused.capacity, 2); // say "busy" now, instead of opening a third one
/// drop(in_use);
/// # Ok::<(), corelocal::pool::BuildError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exhausted {
    /// The most objects that the pool may keep.
    pub capacity: usize,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the pool keeps its {} objects already, and none is idle here: give one back, \
             or build it with a larger capacity",
            self.capacity
        )
    }
}

impl core::error::Error for Exhausted {}

/// No object: none may be made, or the caller's constructor failed.
///
/// ```
/// use corelocal::{PerCpuPool, pool::GetError};
/// use std::fs::File;
///
/// let files: PerCpuPool<File> = PerCpuPool::new(|| unreachable!("opened below"));
/// match files.try_get_or_else(|| File::open("/no/such/file")) {
///     Err(GetError::Make(error)) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
///     Err(full) => eprintln!("{full}"), // try again when one came back
///     Ok(_) => unreachable!("there is none"),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GetError<E> {
    /// The pool is at its bound; the constructor was not called.
    Exhausted(Exhausted),
    /// What the constructor said.
    Make(E),
}

impl<E: fmt::Display> fmt::Display for GetError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted(error) => error.fmt(f),
            Self::Make(error) => write!(f, "a new object could not be made: {error}"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for GetError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Exhausted(error) => Some(error),
            Self::Make(error) => Some(error),
        }
    }
}

/// The lanes could not be taken over. No object was lost.
///
/// ```
/// use corelocal::{PerCpuPool, pool::DrainError};
///
/// let pool = PerCpuPool::builder(String::new).prefill(4).build()?;
/// match pool.drain() {
///     Ok(idle) => drop(idle),
///     Err(DrainError::InProgress) => {}             // another thread is at it
///     Err(error) => eprintln!("not now: {error}"),  // the objects stay, and the pool works
/// }
/// assert_eq!(pool.objects(), 0);
/// # Ok::<(), corelocal::pool::BuildError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DrainError {
    /// Another thread is draining the pool. (In a child of `fork`: or was, in the parent, and is
    /// not there any more. Then the pool cannot be drained here; it works, and can be dropped.)
    InProgress,
    /// The system refuses the barrier that it granted when the pool was built: a sandbox has been
    /// closed since then. What lay in the lanes stays there until the pool is dropped.
    NoFence,
}

impl fmt::Display for DrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProgress => "another thread is draining the pool: try again when it is done",
            Self::NoFence => {
                "the system refuses the barrier against sections (membarrier) since the pool was \
                 built: allow it in the sandbox"
            }
        })
    }
}

impl core::error::Error for DrainError {}
