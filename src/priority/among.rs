//! [`Among`]: a vector, looked at through one mask again and again.

use super::table::{Layout, Table};
use super::value::Priority;
use super::vector::PriorityVec;
use super::word::Words;
use crate::cpu::CpuMask;
use crate::error::AllocError;
use core::fmt;
use core::ops::Deref;

/// What is searched among some CPUs, without the vector's type parameters. Sealed.
pub trait Searched: sealed::Sealed {
    /// The CPUs, laid out as the vector is.
    #[doc(hidden)]
    type Among: Send + Sync;
    #[doc(hidden)]
    fn among(&self, allowed: &[u64]) -> Result<Self::Among, AllocError>;
    #[doc(hidden)]
    fn find_among(&self, below: usize, allowed: &Self::Among, found: &mut CpuMask)
    -> Option<usize>;
}

mod sealed {
    pub trait Sealed {}
}

impl<L: Layout, const LEVELS: usize, W: Words> sealed::Sealed for PriorityVec<L, LEVELS, W> {}

impl<L: Layout, const LEVELS: usize, W: Words> Searched for PriorityVec<L, LEVELS, W> {
    type Among = <L::Table<LEVELS, W> as Table<W>>::Among;

    fn among(&self, allowed: &[u64]) -> Result<Self::Among, AllocError> {
        self.table.among(allowed)
    }

    #[inline]
    fn find_among(
        &self,
        below: usize,
        allowed: &Self::Among,
        found: &mut CpuMask,
    ) -> Option<usize> {
        self.table.find_among(below, allowed, found)
    }
}

/// A vector and the CPUs that one task may run on, from [`PriorityVec::among`].
///
/// Most tasks keep their mask for life. With [`ByCpu`](super::ByCpu) a search must translate it into
/// the vector's order, which costs as much as the search itself if the CPUs are few; here that is
/// done once, and 10 bytes are kept for each 16 CPUs or fewer. With the layouts by level it is the
/// mask, and nothing is gained.
pub struct Among<P>
where
    P: Deref,
    P::Target: Searched,
{
    vector: P,
    allowed: <P::Target as Searched>::Among,
}

impl<P> Among<P>
where
    P: Deref,
    P::Target: Searched,
{
    pub(super) fn try_new(vector: P, allowed: &CpuMask) -> Result<Self, AllocError> {
        let allowed = vector.among(allowed.words())?;
        Ok(Self { vector, allowed })
    }

    /// [`PriorityVec::find`] with the mask that this was made with: the same answer, and the same
    /// promises.
    ///
    /// Wait-free. Allocates if `found` has no room for the vector's ids.
    ///
    /// ```
    /// use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
    ///
    /// let cpus: PriorityVec = PriorityVec::try_new((0..480).map(CpuId::new))?;
    /// let mut slot = PriorityVec::claim(&cpus, CpuId::new(241))?;
    /// slot.set(Priority::rt(7))?;
    ///
    /// let allowed: CpuMask = "0-3,240-243".parse()?;
    /// let mine = PriorityVec::among(&cpus, &allowed)?;
    /// let mut found = CpuMask::with_bound(480);
    /// assert_eq!(mine.find(Priority::rt(9), &mut found), Some(Priority::rt(7)));
    /// assert_eq!(found.to_string(), "241");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn find(&self, priority: Priority, found: &mut CpuMask) -> Option<Priority> {
        self.vector.find_among(priority.below(), &self.allowed, found).map(Priority::at)
    }

    /// The vector.
    #[inline]
    pub fn vector(&self) -> &P::Target {
        &self.vector
    }
}

impl<P> fmt::Debug for Among<P>
where
    P: Deref,
    P::Target: Searched,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Among").finish_non_exhaustive()
    }
}
