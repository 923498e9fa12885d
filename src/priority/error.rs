//! What can be wrong with an order of CPUs, and with a claim.

use crate::cpu::CpuId;
use crate::error::AllocError;
use core::fmt;

/// A CPU that is not there.
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
        write!(f, "CPU {cpu} is not in it; its CPUs' ids are below {bound}")
    }
}

impl core::error::Error for UnknownCpu {}

/// A CPU could not be claimed.
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

/// A vector could not be made from an order of CPUs. Nothing was allocated.
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
