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
    ///
    /// ```
    /// # use corelocal::{CpuId, Lane, PerCpu};
    /// let objects = PerCpu::new(|lane| lane);
    /// let zero = Lane::of_cpu(CpuId::new(0));
    /// assert_eq!(objects.lane(zero), Some(&zero));
    /// ```
    #[inline]
    pub const fn of_cpu(cpu: CpuId) -> Self {
        Self { index: cpu.get(), spill: false }
    }

    /// The spill lane of an area with `cpus` CPU lanes.
    ///
    /// ```
    /// # use corelocal::{Lane, PerCpu};
    /// let objects = PerCpu::new(|lane| lane);
    /// let last = Lane::spill(objects.cpus() as u32);
    /// assert_eq!((objects.lane(last), *objects.spill()), (Some(&last), last));
    /// // Another area has its spill lane elsewhere.
    /// assert_eq!(objects.lane(Lane::spill(u32::MAX)), None);
    /// ```
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
    ///
    /// ```
    /// # use corelocal::PerCpu;
    /// let objects = PerCpu::new(|lane| lane.index() * 10);
    /// let mut packed = vec![0; objects.lanes()];
    /// for (lane, value) in &objects {
    ///     packed[lane.index()] = *value;
    /// }
    /// assert_eq!(packed[1], 10);
    /// ```
    #[inline]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// The CPU, or `None` for the spill lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// for (lane, cell) in &hits {
    ///     match lane.cpu() {
    ///         Some(cpu) => println!("CPU {cpu}: {}", cell.load()),
    ///         None => println!("CPU not known: {}", cell.load()),
    ///     }
    /// }
    /// assert_eq!(hits.iter().filter(|(lane, _)| lane.cpu().is_none()).count(), 1);
    /// ```
    #[inline]
    pub const fn cpu(self) -> Option<CpuId> {
        if self.spill { None } else { Some(CpuId::new(self.index)) }
    }

    /// Whether this is the spill lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// // A queue of 64 for each CPU; a larger one for the threads that share the spill lane.
    /// let queues = PerCpu::new(|lane| Vec::<u8>::with_capacity(if lane.is_spill() { 1024 } else { 64 }));
    /// assert!(queues.spill().capacity() >= 1024);
    /// ```
    #[inline]
    pub const fn is_spill(self) -> bool {
        self.spill
    }
}
