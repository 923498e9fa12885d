//! [`PriorityVec`].

use super::among::Among;
use super::by_cpu::ByCpu;
use super::error::{ClaimError, OrderError};
use super::fits::Fits;
use super::footprint::Footprint;
use super::slot::CpuSlot;
use super::table::{Field, Layout, Table};
use super::value::Priority;
use super::word::{Atomic, Words};
use crate::cpu::{CpuId, CpuMask, MAX_PARSED_ID};
use crate::error::AllocError;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;

/// Ids that there can be, and one more: an order that goes on for ever is not read for ever.
const MOST_IDS: usize = MAX_PARSED_ID as usize + 1;

/// Which CPU runs at which priority.
///
/// `L` says where its words lie (see the [module](super)), `LEVELS` how many levels there are, 2 to
/// 127; 101 are the kernel's. With the layouts by level the structure lies in the vector itself, and
/// can be embedded; masks and what else grows with the number of CPUs is on the heap.
///
/// ```
/// use corelocal::{CpuId, CpuMask, Padded, Priority, PriorityVec};
///
/// // As in the kernel, with count and mask of each level on lines of their own.
/// let cpus: PriorityVec<Padded> = PriorityVec::try_new((0..4).map(CpuId::new))?;
/// let mut slots: Vec<_> = (0..4)
///     .map(|cpu| PriorityVec::claim(&cpus, CpuId::new(cpu)))
///     .collect::<Result<_, _>>()?;
/// slots[0].set(Priority::rt(50))?;
/// slots[1].set(Priority::rt(20))?;
/// slots[2].set(Priority::rt(20))?;
/// // CPU 3 was not set to anything: it takes no tasks.
///
/// let everywhere = CpuMask::first_cpus(4);
/// let mut found = CpuMask::new();
/// let level = cpus.find(Priority::rt(99), &everywhere, &mut found);
/// assert_eq!((level, found.to_string()), (Some(Priority::rt(20)), "1-2".to_owned()));
///
/// // A task pushes away what is less urgent than itself, not its equals.
/// assert_eq!(cpus.find(Priority::rt(20), &everywhere, &mut found), None);
/// assert!(found.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Push and pull
///
/// Two schedulers on two CPUs hand a task over. The one whose CPU goes down in priority *sets its
/// slot, then looks for queues with too much*; the one with too much *marks its queue, then searches*.
/// One of them must see the other, or the task waits though there is room:
///
/// * [`CpuSlot::set`] has a full barrier after the change, so nothing is needed there.
/// * The other one puts a `fence(SeqCst)` between its mark and its search. (On x86-64 an atomic
///   read-modify-write that marks is one already.) A search does not begin with one: most callers
///   search because of something that they know already.
///
/// This is edge E32 of [`orderings`](crate::docs::orderings).
#[repr(transparent)]
pub struct PriorityVec<L: Layout = ByCpu<64>, const LEVELS: usize = 101, W: Words = Atomic> {
    pub(super) table: L::Table<LEVELS, W>,
}

impl<L: Layout, const LEVELS: usize, W: Words> PriorityVec<L, LEVELS, W> {
    /// A vector of the CPUs of `order`, all of them [`INVALID`](Priority::INVALID).
    ///
    /// The order matters to [`ByCpu`] alone: CPUs that stand together share a shard, so CPUs that
    /// share a cache should stand together. Ids can have gaps, up to
    /// [`MAX_PARSED_ID`](crate::cpu::MAX_PARSED_ID).
    ///
    /// # Errors
    ///
    /// [`OrderError`] if the order is empty, names a CPU twice or an impossible one, or if there is
    /// no memory.
    ///
    /// ```
    /// # use corelocal::{ByCpu, CpuId, PriorityVec};
    /// use corelocal::priority::OrderError;
    ///
    /// // The two threads of each core side by side.
    /// let order = [0, 4, 1, 5, 2, 6, 3, 7].map(CpuId::new);
    /// let vector: PriorityVec = PriorityVec::try_new(order)?;
    /// assert_eq!(vector.cpus().to_string(), "0-7");
    /// assert_eq!(PriorityVec::<ByCpu>::try_new([] as [CpuId; 0]).err(), Some(OrderError::Empty));
    /// # Ok::<(), OrderError>(())
    /// ```
    pub fn try_new(order: impl IntoIterator<Item: Borrow<CpuId>>) -> Result<Self, OrderError> {
        const { assert!(LEVELS >= 2 && LEVELS <= 127, "a vector has 2 to 127 levels") };
        let mut ids = Vec::new();
        for cpu in order {
            let bytes = (ids.len() + 1) * size_of::<CpuId>();
            let refused = AllocError::OutOfMemory { bytes };
            ids.try_reserve(1).map_err(|_| refused)?;
            ids.push(*cpu.borrow());
            if ids.len() > MOST_IDS {
                break; // One of them is too large, or stands there twice: the registry says which.
            }
        }
        Ok(Self { table: Table::try_new(&ids)? })
    }

    /// [`try_new`](Self::try_new) under the name that says what it takes.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use corelocal::{CpuMask, PriorityVec};
    /// let allowed: CpuMask = "0-3,8".parse()?; // of a container
    /// let vector: PriorityVec = PriorityVec::with_order(&allowed)?;
    /// assert_eq!(vector.cpus(), allowed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_order(order: impl IntoIterator<Item: Borrow<CpuId>>) -> Result<Self, OrderError> {
        Self::try_new(order)
    }

    /// A vector of the machine's possible CPUs, those that share a last-level cache side by side,
    /// and in it the threads of a core.
    ///
    /// # Errors
    ///
    /// [`OrderError::Alloc`] if there is no memory for the vector. (What a topology reads at the
    /// first questions about it, it keeps on the heap: that is not covered.)
    ///
    /// ```
    /// use corelocal::{PriorityVec, Topology};
    /// let cpus: PriorityVec = PriorityVec::with_topology(Topology::current())?;
    /// assert_eq!(&cpus.cpus(), Topology::current().possible());
    /// # Ok::<(), corelocal::priority::OrderError>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn with_topology(machine: &crate::sys::topology::Topology) -> Result<Self, OrderError> {
        Self::try_new(super::order::of_topology(machine)?.iter())
    }

    /// Takes the right to set `cpu`'s priority. `this` is anything that leads to the vector: `&`,
    /// `&'static`, `Arc`. (It has to lead to the same vector each time, as all of std's do. With one
    /// that does not, levels are wrong or a call panics; nothing worse.)
    ///
    /// One atomic operation. What the CPU's last writer did happens before (edge E1).
    ///
    /// # Errors
    ///
    /// [`ClaimError`] if somebody has it, or the vector was made without that CPU.
    ///
    /// ```
    /// use corelocal::priority::ClaimError;
    /// use corelocal::{CpuId, PriorityVec};
    /// use std::sync::Arc;
    ///
    /// let cpus: Arc<PriorityVec> = Arc::new(PriorityVec::try_new([CpuId::new(7)])?);
    /// let slot = PriorityVec::claim(cpus.clone(), CpuId::new(7))?;
    /// let second = PriorityVec::claim(cpus.clone(), CpuId::new(7));
    /// assert_eq!(second.unwrap_err(), ClaimError::Claimed(CpuId::new(7)));
    ///
    /// drop(slot);
    /// assert!(PriorityVec::claim(cpus, CpuId::new(7)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim<P: Deref<Target = Self>>(this: P, cpu: CpuId) -> Result<CpuSlot<P>, ClaimError> {
        CpuSlot::claim(this, cpu)
    }

    /// Fills `found` with the CPUs of `allowed` at the lowest level below `priority`, and returns
    /// that level. If there is none, `found` is empty. The promises are in the [module](super).
    ///
    /// Strictly below: a CPU at `priority` itself is not found, and a task that is
    /// [`NORMAL`](Priority::NORMAL) or [`INVALID`](Priority::INVALID) finds nothing. CPUs of `allowed`
    /// that the vector has not are ignored.
    ///
    /// Wait-free once `found` has room. The layouts by level read a count for each level up to the answer, and a word for
    /// each 64 CPUs of a level with somebody; [`ByCpu`] reads a byte for each allowed CPU, in words.
    /// If not all CPUs of the vector are allowed, it has to translate the mask first, which costs as
    /// much as the search: [`among`](Self::among) does that once for a task.
    ///
    /// Allocates if `found` has no room for the vector's ids: give it some once
    /// ([`CpuMask::with_bound`]).
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
    /// let vector: PriorityVec = PriorityVec::try_new((0..8).map(CpuId::new))?;
    /// let mut slots = (0..8)
    ///     .map(|cpu| PriorityVec::claim(&vector, CpuId::new(cpu)))
    ///     .collect::<Result<Vec<_>, _>>()?;
    /// slots.iter_mut().try_for_each(|slot| slot.set(Priority::rt(30)))?;
    /// slots[6].set(Priority::rt(10))?;
    ///
    /// let mut found = CpuMask::with_bound(8); // kept: no allocation in a search
    /// let pinned: CpuMask = "0-5".parse()?;
    /// assert_eq!(vector.find(Priority::rt(40), &pinned, &mut found), Some(Priority::rt(30)));
    /// assert_eq!(found.to_string(), "0-5"); // CPU 6 is lower, and not allowed
    /// assert_eq!(vector.find(Priority::rt(30), &pinned, &mut found), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn find(
        &self,
        priority: Priority,
        allowed: &CpuMask,
        found: &mut CpuMask,
    ) -> Option<Priority> {
        self.table.find(priority.below(), allowed.words(), found).map(Priority::at)
    }

    /// This vector and the CPUs of `allowed`, for tasks that search it often and keep their mask:
    /// see [`Among::find`]. `this` is anything that leads to the vector, as in
    /// [`claim`](Self::claim).
    ///
    /// Linear in the CPUs of `allowed`; those that the vector has not are ignored.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if there is no memory.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
    /// let vector: PriorityVec = PriorityVec::try_new((0..480).map(CpuId::new))?;
    /// let affinity: CpuMask = "16-19".parse()?;
    /// let mine = PriorityVec::among(&vector, &affinity)?; // anew whenever the affinity changes
    /// assert_eq!(mine.find(Priority::rt(5), &mut CpuMask::with_bound(480)), None); // all are INVALID
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn among<P: Deref<Target = Self>>(
        this: P,
        allowed: &CpuMask,
    ) -> Result<Among<P>, AllocError> {
        Among::try_new(this, allowed)
    }

    /// As [`find`](Self::find), preferring CPUs that `fits` agrees to: the lowest level with such a
    /// CPU, and those of its CPUs; if none fits below `priority`, what `find` gives.
    ///
    /// So a CPU that fits is preferred to a lower one that does not, and a task that fits nowhere can
    /// still move. In the second case that is a second search. `fits` is asked about CPUs of the
    /// answer and about some that were passed; it is a mask, or a function.
    ///
    /// ```
    /// use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
    ///
    /// let cpus: PriorityVec = PriorityVec::try_new((0..2).map(CpuId::new))?;
    /// let mut small = PriorityVec::claim(&cpus, CpuId::new(0))?;
    /// let mut big = PriorityVec::claim(&cpus, CpuId::new(1))?;
    /// small.set(Priority::NORMAL)?;
    /// big.set(Priority::rt(5))?;
    ///
    /// let (all, mut found) = (CpuMask::first_cpus(2), CpuMask::new());
    /// let level = cpus.find_fit(Priority::rt(9), &all, |cpu: CpuId| cpu.get() == 1, &mut found);
    /// assert_eq!((level, found.to_string()), (Some(Priority::rt(5)), "1".to_owned()));
    ///
    /// let level = cpus.find_fit(Priority::rt(9), &all, |_: CpuId| false, &mut found);
    /// assert_eq!((level, found.to_string()), (Some(Priority::NORMAL), "0".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find_fit(
        &self,
        priority: Priority,
        allowed: &CpuMask,
        mut fits: impl Fits,
        found: &mut CpuMask,
    ) -> Option<Priority> {
        let mut fits = |cpu| fits.fits(cpu);
        match self.table.find_fit(priority.below(), allowed.words(), &mut fits, found) {
            Some(level) => Some(Priority::at(level)),
            None => self.find(priority, allowed, found),
        }
    }

    /// One of the CPUs that [`find`](Self::find) would give, and its level; one near `near`, if there
    /// is a choice.
    ///
    /// [`ByCpu`] begins at the shard of `near` and ends at the first CPU at level 0, so
    /// it reads one shard where somebody near is idle. The layouts by level take the
    /// first CPU from `near` on, by id.
    ///
    /// ```
    /// use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
    ///
    /// let cpus: PriorityVec = PriorityVec::try_new((0..128).map(CpuId::new))?;
    /// let mut slots = Vec::new();
    /// for cpu in [3, 70] {
    ///     let mut slot = PriorityVec::claim(&cpus, CpuId::new(cpu))?;
    ///     slot.set(Priority::NORMAL)?;
    ///     slots.push(slot);
    /// }
    /// let near = CpuId::new(100);
    /// let one = cpus.find_any(Priority::rt(1), &CpuMask::first_cpus(128), near);
    /// assert_eq!(one, Some((CpuId::new(70), Priority::NORMAL)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn find_any(
        &self,
        priority: Priority,
        allowed: &CpuMask,
        near: CpuId,
    ) -> Option<(CpuId, Priority)> {
        let (cpu, level) = self.table.find_any(priority.below(), allowed.words(), near)?;
        Some((cpu, Priority::at(level)))
    }

    /// How many CPUs are at `priority`; for [`INVALID`](Priority::INVALID), how many are at no level.
    ///
    /// Exact while nobody sets. The layouts by level load one count (for `INVALID` all),
    /// [`ByCpu`] all shards. Zero for a level that the vector has not.
    ///
    /// ```
    /// use corelocal::{CpuId, Priority, PriorityVec};
    ///
    /// let cpus: PriorityVec = PriorityVec::try_new((0..4).map(CpuId::new))?;
    /// let mut slot = PriorityVec::claim(&cpus, CpuId::new(1))?;
    /// slot.set(Priority::NORMAL)?;
    /// assert_eq!((cpus.count(Priority::NORMAL), cpus.count(Priority::INVALID)), (1, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count(&self, priority: Priority) -> usize {
        match priority.level() {
            Some(level) if usize::from(level) >= LEVELS => 0,
            _ => self.table.count(priority.byte()),
        }
    }

    /// The CPUs that it was made with, in a new mask.
    ///
    /// ```
    /// # use corelocal::{CpuId, PriorityVec};
    /// let vector: PriorityVec = PriorityVec::try_new([7, 2, 3].map(CpuId::new))?;
    /// let all = vector.cpus(); // a run queue for each
    /// let slots = all.iter().map(|cpu| PriorityVec::claim(&vector, cpu));
    /// assert_eq!(slots.collect::<Result<Vec<_>, _>>()?.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cpus(&self) -> CpuMask {
        self.table.registry().cpus()
    }

    /// The memory that it takes, all of it.
    ///
    /// What is on the heap lies where the heap puts it: a small table may reach into one line
    /// more, or share the line of another.
    ///
    /// ```
    /// use corelocal::{CpuId, Padded, PriorityVec};
    ///
    /// let ids = || (0..480).map(CpuId::new);
    /// let padded: PriorityVec<Padded> = PriorityVec::try_new(ids())?;
    /// let by_cpu: PriorityVec = PriorityVec::try_new(ids())?;
    /// assert!(padded.footprint().lines() > 10 * by_cpu.footprint().lines());
    /// # Ok::<(), corelocal::priority::OrderError>(())
    /// ```
    pub fn footprint(&self) -> Footprint {
        Footprint::of(&self.fields())
    }

    /// Every field with its address.
    #[doc(hidden)]
    pub fn fields(&self) -> Vec<Field> {
        let mut fields = Vec::new();
        self.table.fields(&mut |field| fields.push(field));
        fields
    }
}

impl<L: Layout, const LEVELS: usize, W: Words> fmt::Debug for PriorityVec<L, LEVELS, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registry = self.table.registry();
        f.debug_struct("PriorityVec")
            .field("layout", &L::NAME)
            .field("levels", &LEVELS)
            .field("cpus", &registry.len())
            .field("claimed", &registry.claims())
            .finish()
    }
}
