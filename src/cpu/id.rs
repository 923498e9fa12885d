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
