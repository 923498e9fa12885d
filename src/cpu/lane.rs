use super::CpuId;

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
