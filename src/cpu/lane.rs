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

    /// The lane with this number of an area with `cpus` CPU lanes; `None` if it has no such lane.
    ///
    /// ```
    /// use corelocal::cpu::Lane;
    /// assert_eq!(Lane::of_index(4, 4), Some(Lane::spill(4)));
    /// assert_eq!(Lane::of_index(5, 4), None);
    /// ```
    #[inline]
    pub const fn of_index(index: usize, cpus: u32) -> Option<Self> {
        if index < cpus as usize {
            Some(Self::of_cpu(CpuId::new(index as u32)))
        } else if index == cpus as usize {
            Some(Self::spill(cpus))
        } else {
            None
        }
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
