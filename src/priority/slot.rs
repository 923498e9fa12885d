//! [`CpuSlot`]: the right to say what a CPU runs at.

use super::error::{ClaimError, UnknownCpu};
use super::table::{Layout, Place, Table};
use super::value::{NOWHERE, Priority, PriorityError};
use super::vector::PriorityVec;
use super::word::Words;
use crate::cpu::CpuId;
use core::fmt;
use core::ops::Deref;

/// A [`PriorityVec`] of any layout and size, as its slots need it. Sealed.
///
/// ```
/// use corelocal::priority::Claimed;
/// use corelocal::{CpuId, CpuSlot, Padded, Priority, PriorityVec};
/// use std::ops::Deref;
///
/// /// A CPU that goes idle, in a vector of whichever layout, by whichever pointer.
/// fn idle<P: Deref<Target: Claimed>>(slot: &mut CpuSlot<P>) -> Priority {
///     slot.set(Priority::NORMAL).expect("level 0 is always there");
///     slot.get()
/// }
/// let vector: PriorityVec<Padded> = PriorityVec::try_new([CpuId::new(0)])?;
/// assert_eq!(idle(&mut PriorityVec::claim(&vector, CpuId::new(0))?), Priority::NORMAL);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Claimed: sealed::Sealed {
    #[doc(hidden)]
    fn put(&self, place: &Place, level: u8);
    #[doc(hidden)]
    fn levels(&self) -> usize;
    #[doc(hidden)]
    fn release(&self, cpu: CpuId);
}

mod sealed {
    pub trait Sealed {}
}

impl<L: Layout, const LEVELS: usize, W: Words> sealed::Sealed for PriorityVec<L, LEVELS, W> {}

impl<L: Layout, const LEVELS: usize, W: Words> Claimed for PriorityVec<L, LEVELS, W> {
    #[inline]
    fn put(&self, place: &Place, level: u8) {
        self.table.set(place, level);
    }

    fn levels(&self) -> usize {
        LEVELS
    }

    fn release(&self, cpu: CpuId) {
        self.table.registry().release(cpu);
    }
}

/// The one writer of a CPU's priority, from [`PriorityVec::claim`].
///
/// It can be sent to another thread, and used from any CPU: who holds the lock of a run queue holds
/// its slot, so the queue is the place for it. Dropping it makes the CPU
/// [`INVALID`](Priority::INVALID) and gives it back. One that is leaked keeps its CPU claimed, at the
/// level that it was last set to.
///
/// ```
/// use corelocal::{CpuId, CpuSlot, Priority, PriorityVec};
/// use std::collections::BinaryHeap;
/// use std::sync::{Arc, Mutex};
///
/// struct RunQueue {
///     tasks: BinaryHeap<Priority>,
///     slot: CpuSlot<Arc<PriorityVec>>,
/// }
///
/// impl RunQueue {
///     fn push(&mut self, task: Priority) {
///         self.tasks.push(task);
///         let top = *self.tasks.peek().expect("there is one now");
///         self.slot.set(top).expect("the vector has the kernel's levels");
///     }
/// }
///
/// let cpus: Arc<PriorityVec> = Arc::new(PriorityVec::try_new((0..2).map(CpuId::new))?);
/// let slot = PriorityVec::claim(cpus.clone(), CpuId::new(1))?;
/// let queue = Mutex::new(RunQueue { tasks: BinaryHeap::new(), slot });
///
/// queue.lock().unwrap().push(Priority::rt(5));
/// queue.lock().unwrap().push(Priority::rt(3));
/// assert_eq!(queue.lock().unwrap().slot.get(), Priority::rt(5));
/// assert_eq!(cpus.count(Priority::rt(5)), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping it makes the CPU INVALID"]
pub struct CpuSlot<P>
where
    P: Deref,
    P::Target: Claimed,
{
    vector: P,
    place: Place,
}

impl<P> CpuSlot<P>
where
    P: Deref,
    P::Target: Claimed,
{
    /// Takes `cpu` of `vector`.
    pub(super) fn claim<L: Layout, const LEVELS: usize, W: Words>(
        vector: P,
        cpu: CpuId,
    ) -> Result<Self, ClaimError>
    where
        P: Deref<Target = PriorityVec<L, LEVELS, W>>,
    {
        let registry = vector.table.registry();
        if !registry.contains(cpu) {
            let bound = registry.bound();
            return Err(ClaimError::UnknownCpu(UnknownCpu { cpu, bound }));
        }
        if !registry.claim(cpu) {
            return Err(ClaimError::Claimed(cpu));
        }
        let place = vector.table.place(cpu);
        Ok(Self { vector, place })
    }

    /// Makes `priority` what the CPU runs at; [`INVALID`](Priority::INVALID) takes it out of every
    /// search.
    ///
    /// Wait-free. If it is what it was, nothing is written, there is no barrier, and the layouts by
    /// level read the CPU's own level alone (16 CPUs' lie in a line). Else:
    ///
    /// * [`ByCpu`](super::ByCpu): one atomic read-modify-write.
    /// * The layouts by level: the new level's mask and count, then the old level's count and mask:
    ///   up to four atomic read-modify-writes.
    ///
    /// **Has a full barrier after the new level**, so what the caller reads next is read after a
    /// search can find the CPU there. That is the writer's half of the hand-shake of push and pull:
    /// see [`PriorityVec`](super::PriorityVec#push-and-pull). With `INVALID` there is no new level,
    /// and the layouts by level have no full barrier.
    ///
    /// # Errors
    ///
    /// [`PriorityError::NoSuchLevel`] if the vector has no such level; the CPU stays where it was.
    ///
    /// ```
    /// use corelocal::{CpuId, Priority, PriorityVec};
    ///
    /// let cpus = PriorityVec::<corelocal::ByCpu>::try_new((0..4).map(CpuId::new))?;
    /// let mut slot = PriorityVec::claim(&cpus, CpuId::new(2))?;
    /// slot.set(Priority::rt(50))?;
    /// assert_eq!(cpus.count(Priority::rt(50)), 1);
    ///
    /// slot.set(Priority::INVALID)?;
    /// assert_eq!(cpus.count(Priority::rt(50)), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn set(&mut self, priority: Priority) -> Result<(), PriorityError> {
        let byte = priority.byte();
        let levels = self.vector.levels();
        if usize::from(byte) >= levels && byte != NOWHERE {
            return Err(PriorityError::NoSuchLevel { level: byte, levels });
        }
        self.vector.put(&self.place, byte);
        self.place.level = byte;
        Ok(())
    }

    /// What it was set to last; [`INVALID`](Priority::INVALID) at first. Reads nothing shared.
    ///
    /// ```
    /// use corelocal::{CpuId, Priority, PriorityVec};
    ///
    /// let vector: PriorityVec = PriorityVec::try_new([CpuId::new(0)])?;
    /// let mut slot = PriorityVec::claim(&vector, CpuId::new(0))?;
    /// assert_eq!(slot.get(), Priority::INVALID);
    /// slot.set(Priority::rt(10))?;
    /// let woken = Priority::rt(40);
    /// assert!(woken > slot.get(), "so it runs at once");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get(&self) -> Priority {
        Priority::from_byte(self.place.level)
    }

    /// Whose it is.
    ///
    /// ```
    /// use corelocal::{CpuId, PriorityVec};
    ///
    /// let vector: PriorityVec = PriorityVec::try_new((0..4).map(CpuId::new))?;
    /// let slots = (0..4)
    ///     .map(|cpu| PriorityVec::claim(&vector, CpuId::new(cpu)))
    ///     .collect::<Result<Vec<_>, _>>()?;
    /// // Each run queue gets the slot of its own CPU.
    /// assert!(slots.iter().enumerate().all(|(queue, slot)| slot.cpu().index() == queue));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn cpu(&self) -> CpuId {
        self.place.cpu
    }

    /// The vector.
    ///
    /// ```
    /// use corelocal::{CpuId, CpuMask, CpuSlot, Priority, PriorityVec};
    /// use std::sync::Arc;
    ///
    /// /// Whom a run queue can push work to, by what it holds anyway.
    /// fn lower(slot: &CpuSlot<Arc<PriorityVec>>, task: Priority) -> Option<CpuId> {
    ///     slot.vector().find_any(task, &CpuMask::first_cpus(4), slot.cpu()).map(|(cpu, _)| cpu)
    /// }
    /// let vector: Arc<PriorityVec> = Arc::new(PriorityVec::try_new((0..4).map(CpuId::new))?);
    /// let slot = PriorityVec::claim(vector.clone(), CpuId::new(0))?;
    /// let mut other = PriorityVec::claim(vector, CpuId::new(3))?;
    /// other.set(Priority::NORMAL)?;
    /// assert_eq!(lower(&slot, Priority::rt(2)), Some(CpuId::new(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn vector(&self) -> &P::Target {
        &self.vector
    }
}

impl<P> Drop for CpuSlot<P>
where
    P: Deref,
    P::Target: Claimed,
{
    fn drop(&mut self) {
        self.vector.put(&self.place, NOWHERE);
        self.vector.release(self.place.cpu);
    }
}

impl<P> fmt::Debug for CpuSlot<P>
where
    P: Deref,
    P::Target: Claimed,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuSlot").field("cpu", &self.cpu()).field("at", &self.get()).finish()
    }
}
