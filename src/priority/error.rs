//! What can be wrong with an order of CPUs, and with a claim.

use crate::cpu::CpuId;
use crate::error::AllocError;
use core::fmt;

/// A CPU that the vector, or the mask of a [`Level`](super::Level), has not.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use corelocal::priority::UnknownCpu;
/// use corelocal::{CpuId, Level};
///
/// let idle: Level<[AtomicU64; 1]> = Level::default(); // 64 CPUs
/// let error = idle.enter(CpuId::new(70)).unwrap_err();
/// assert_eq!(error, UnknownCpu { cpu: CpuId::new(70), bound: 64 }); // two words would do
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownCpu {
    /// The CPU.
    pub cpu: CpuId,
    /// Ids are below it; those of a vector can have gaps.
    pub bound: usize,
}

impl fmt::Display for UnknownCpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, bound } = self;
        write!(f, "there is no CPU {cpu} here; ids are below {bound}, and a vector's can have gaps")
    }
}

impl core::error::Error for UnknownCpu {}

/// A CPU could not be claimed. Nothing was changed.
///
/// ```
/// use corelocal::priority::ClaimError;
/// use corelocal::{CpuId, PriorityVec};
///
/// let cpus: PriorityVec = PriorityVec::try_new([CpuId::new(0), CpuId::new(4)])?;
/// let error = PriorityVec::claim(&cpus, CpuId::new(2)).unwrap_err();
/// assert!(matches!(error, ClaimError::UnknownCpu(unknown) if unknown.bound == 5));
/// # Ok::<(), corelocal::priority::OrderError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClaimError {
    /// The vector was made without it.
    UnknownCpu(UnknownCpu),
    /// Another [`CpuSlot`](super::CpuSlot) has it; drop that one first.
    Claimed(CpuId),
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCpu(unknown) => unknown.fmt(f),
            Self::Claimed(cpu) => {
                write!(f, "CPU {cpu} has a slot already; there is one writer a CPU, drop it first")
            }
        }
    }
}

impl core::error::Error for ClaimError {}

/// A vector could not be made from an order of CPUs. No memory is kept.
///
/// ```
/// use corelocal::priority::OrderError;
/// use corelocal::{CpuId, PriorityVec};
///
/// let error = PriorityVec::<corelocal::ByCpu>::try_new([1, 2, 1].map(CpuId::new)).unwrap_err();
/// assert_eq!(error, OrderError::Twice(CpuId::new(1)));
/// assert_eq!(error.to_string(), "CPU 1 stands in the order twice; name it once");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OrderError {
    /// There is no CPU in it.
    Empty,
    /// A CPU stands in it twice.
    Twice(CpuId),
    /// An id is larger than any machine's.
    IdTooLarge {
        /// The CPU.
        cpu: CpuId,
        /// The largest id that there can be.
        most: u32,
    },
    /// There was no memory.
    Alloc(AllocError),
}

impl From<AllocError> for OrderError {
    fn from(error: AllocError) -> Self {
        Self::Alloc(error)
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the order names no CPU; name each CPU once"),
            Self::Twice(cpu) => write!(f, "CPU {cpu} stands in the order twice; name it once"),
            Self::IdTooLarge { cpu, most } => {
                write!(f, "CPU {cpu} is no CPU of any machine; ids go up to {most}")
            }
            Self::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for OrderError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Alloc(error) => Some(error),
            _ => None,
        }
    }
}
