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
///
/// ```
/// use corelocal::priority::{Among, Searched};
/// use corelocal::{CpuId, CpuMask, Packed, Priority, PriorityVec};
/// use std::ops::Deref;
///
/// /// A task keeps its CPUs looked up, for a vector of whichever layout.
/// struct Task<P: Deref<Target: Searched>> { priority: Priority, cpus: Among<P> }
///
/// let vector: PriorityVec<Packed> = PriorityVec::try_new((0..4).map(CpuId::new))?;
/// let mut slot = PriorityVec::claim(&vector, CpuId::new(2))?;
/// slot.set(Priority::NORMAL)?;
/// let cpus = PriorityVec::among(&vector, &CpuMask::first_cpus(4))?;
/// let task = Task { priority: Priority::rt(3), cpus };
/// assert_eq!(task.cpus.find(task.priority, &mut CpuMask::new()), Some(Priority::NORMAL));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// ```
/// use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
///
/// let vector: PriorityVec = PriorityVec::try_new((0..64).map(CpuId::new))?;
/// let mut slot = PriorityVec::claim(&vector, CpuId::new(9))?;
/// slot.set(Priority::NORMAL)?;
/// let pinned = PriorityVec::among(&vector, &"8-11".parse()?)?; // when the task's mask is set
/// let mut found = CpuMask::with_bound(64);
/// for _ in 0..3 {
///     assert_eq!(pinned.find(Priority::rt(1), &mut found), Some(Priority::NORMAL)); // at each wake-up
/// }
/// assert_eq!(found.to_string(), "9");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// ```
    /// use corelocal::{CpuId, CpuMask, PriorityVec};
    /// use std::sync::Arc;
    ///
    /// let vector: Arc<PriorityVec> = Arc::new(PriorityVec::try_new((0..4).map(CpuId::new))?);
    /// let mine = PriorityVec::among(vector, &CpuMask::first_cpus(2))?; // holds a share of it
    /// assert_eq!(mine.vector().cpus().to_string(), "0-3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
