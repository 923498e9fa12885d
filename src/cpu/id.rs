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
    ///
    /// ```
    /// # use corelocal::{CpuId, PerCpu};
    /// let names = PerCpu::new(|lane| lane.index());
    /// assert_eq!(names.get(CpuId::new(0)), Some(&0));     // every machine has a CPU 0
    /// assert_eq!(names.get(CpuId::new(u32::MAX)), None);  // any id may be asked for
    /// ```
    #[inline]
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The kernel's number.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// // The kernel's numbers, for a call or a text of one's own.
    /// let numa: CpuMask = "2-3,6".parse()?;
    /// let ids: Vec<u32> = numa.iter().map(|cpu| cpu.get()).collect();
    /// assert_eq!(ids, [2, 3, 6]);
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The kernel's number, as an index.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let allowed: CpuMask = "0,5".parse()?;
    /// let mut load = vec![0.0; allowed.id_bound()]; // not `len`: ids have gaps
    /// for cpu in &allowed {
    ///     load[cpu.index()] = 0.5;
    /// }
    /// assert_eq!(load, [0.5, 0.0, 0.0, 0.0, 0.0, 0.5]);
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
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
