//! CPUs as plain values: [`CpuId`] and [`Lane`]. No system calls.

use core::fmt;

/// A logical CPU, as the kernel numbers it. Ids can have gaps.
///
/// Outside a restartable section an id is only a hint: the thread may have been
/// moved before the value is used. Any id may cost speed; none can cost safety.
///
/// ```
/// use corelocal::cpu::CpuId;
/// let cpu = CpuId::new(3);
/// assert_eq!(cpu.index(), 3);
/// assert_eq!(cpu.to_string(), "3");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct CpuId(u32);

impl CpuId {
    /// The CPU that the kernel calls `id`.
    #[inline]
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The kernel's number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The kernel's number, as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for CpuId {
    #[inline]
    fn from(id: u32) -> Self {
        Self(id)
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The place of one CPU's copies.
///
/// Lanes `0..cpus` belong to the CPUs of that number; the last one, the **spill
/// lane**, serves threads whose CPU is not known.
///
/// ```
/// use corelocal::cpu::{CpuId, Lane};
/// let lane = Lane::of_cpu(CpuId::new(2));
/// assert_eq!((lane.index(), lane.cpu()), (2, Some(CpuId::new(2))));
/// assert_eq!(Lane::spill(4).cpu(), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lane {
    index: u32,
    spill: bool,
}

impl Lane {
    /// The lane of `cpu`.
    #[inline]
    pub const fn of_cpu(cpu: CpuId) -> Self {
        Self { index: cpu.get(), spill: false }
    }

    /// The spill lane of an area with `cpus` CPU lanes.
    #[inline]
    pub const fn spill(cpus: u32) -> Self {
        Self { index: cpus, spill: true }
    }

    /// The lane's number: the CPU's id, or the number of CPU lanes for the spill lane.
    #[inline]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// The CPU, or `None` for the spill lane.
    #[inline]
    pub const fn cpu(self) -> Option<CpuId> {
        if self.spill { None } else { Some(CpuId::new(self.index)) }
    }

    /// Whether this is the spill lane.
    #[inline]
    pub const fn is_spill(self) -> bool {
        self.spill
    }
}
