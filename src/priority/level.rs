//! [`Level`]: a count and a mask, apart from each other or not.

use super::error::UnknownCpu;
use super::mask::{LevelMask, WORD_CPUS};
use super::protocol;
use super::word::{Atomic, Word, Words};
use crate::cacheline::CacheLine;
use crate::cpu::{CpuId, CpuMask};
use core::fmt;
use core::ops::Deref;

/// Count beside mask: the padding of a [`Level`], and the vector's layout of that name.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use corelocal::{CACHE_LINE, Level, Packed, Padded};
///
/// assert_eq!(size_of::<Level<[AtomicU64; 1], Packed>>(), 16);
/// assert_eq!(size_of::<Level<[AtomicU64; 1], Padded>>(), 2 * CACHE_LINE);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Packed;

/// Count and mask each on cache lines of their own: the padding of a [`Level`], and the vector's
/// layout of that name.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use corelocal::{CACHE_LINE, CpuId, Level, Padded, PriorityVec};
///
/// // Searchers pass by on the count's line, while comers and goers have the mask's.
/// let idle: Level<[AtomicU64; 1], Padded> = Level::default();
/// assert_eq!(size_of_val(&idle), 2 * CACHE_LINE);
/// let vector: PriorityVec<Padded> = PriorityVec::try_new((0..8).map(CpuId::new))?;
/// assert!(vector.footprint().lines() > 2 * 101);
/// # Ok::<(), corelocal::priority::OrderError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Padded;

/// How a [`Level`]'s count and mask lie: [`Packed`] or [`Padded`]. Sealed.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use corelocal::priority::Padding;
/// use corelocal::{CpuId, Level, Packed, Padded};
///
/// /// The same test for either.
/// fn empty_again<P: Padding>() -> bool {
///     let level: Level<[AtomicU64; 1], P> = Level::default();
///     level.enter(CpuId::new(3)).unwrap() && level.leave(CpuId::new(3)).unwrap() && level.count() == 0
/// }
/// assert!(empty_again::<Packed>() && empty_again::<Padded>());
/// ```
pub trait Padding: sealed::Sealed {
    /// A count or a mask, with what is around it.
    #[doc(hidden)]
    type Of<T>: Deref<Target = T> + From<T>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Packed {}
    impl Sealed for super::Padded {}
}

/// Nothing around it.
#[doc(hidden)]
#[derive(Debug)]
#[repr(transparent)]
pub struct Bare<T>(T);

impl<T> Deref for Bare<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Bare<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl Padding for Packed {
    type Of<T> = Bare<T>;
}

impl Padding for Padded {
    type Of<T> = CacheLine<T>;
}

/// One level: how many CPUs are at it, and which.
///
/// Searchers read the count of every level and the mask of few: they pass an empty level with one
/// load. So the two have different readers, and lie apart with the padding [`Padded`] (the default):
/// *count and mask are each on a cache line of their own*. With [`Packed`] they lie side by side, and
/// every search that passes takes the line from whoever changes the mask.
///
/// `M` holds the mask's words: `[AtomicU64; N]` in the level itself, for the CPUs `0..64 * N`, or
/// `Box<[AtomicU64]>`, which leaves 16 bytes here and is as long as the machine asks for.
///
/// # Protocol
///
/// A CPU that changes its level **enters the new one, then leaves the old one**. Then a search that
/// goes upwards finds a CPU that rises meanwhile, in one of the two.
///
/// * [`enter`](Self::enter) sets the bit, then counts; [`leave`](Self::leave) takes it off the count,
///   then clears the bit. Who sees the count sees the bits that it counts, and who sees a
///   bit gone sees the count without it. `enter` ends with a full barrier.
/// * [`find`](Self::find) reads the count, and the mask if that is not zero.
///
/// The barriers are edges E30 to E33 of [`orderings`](crate::docs::orderings). One thread at a time
/// enters and leaves for a CPU; [`PriorityVec`](super::PriorityVec) makes sure of that,
/// here the caller does. If it does not, the count can be wrong for ever, and nothing worse.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use corelocal::{CpuId, CpuMask, Level, Padded};
///
/// let idle: Level<[AtomicU64; 2], Padded> = Level::default();
/// let busy: Level<[AtomicU64; 2], Padded> = Level::default();
/// idle.enter(CpuId::new(70)).unwrap();
///
/// let mut found = CpuMask::new();
/// assert!(idle.find(&CpuMask::first_cpus(128), &mut found));
/// assert_eq!(found.to_string(), "70");
///
/// busy.enter(CpuId::new(70)).unwrap(); // the new one first
/// idle.leave(CpuId::new(70)).unwrap();
/// assert_eq!((idle.count(), busy.count()), (0, 1));
/// ```
#[repr(C)]
pub struct Level<M, P: Padding = Padded, W: Words = Atomic> {
    pub(super) count: P::Of<W::U32>,
    pub(super) mask: P::Of<M>,
}

impl<M: Default, P: Padding, W: Words> Default for Level<M, P, W> {
    fn default() -> Self {
        Self::new(M::default())
    }
}

impl<M, P: Padding, W: Words> Level<M, P, W> {
    /// A level without CPUs. `mask` has to be empty: bits that are set in it are not counted.
    ///
    /// ```
    /// use core::sync::atomic::AtomicU64;
    /// use corelocal::{CpuId, Level, Topology};
    ///
    /// let words = Topology::current().cpus().div_ceil(64);
    /// let mask: Box<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
    /// let idle: Level<_> = Level::new(mask);
    /// assert_eq!(idle.enter(CpuId::new(0)), Ok(true));
    /// assert_eq!(idle.enter(CpuId::new(0)), Ok(false)); // it was there
    /// assert_eq!(idle.count(), 1);
    /// # Ok::<(), corelocal::priority::UnknownCpu>(())
    /// ```
    pub fn new(mask: M) -> Self {
        Self { count: W::U32::new(0).into(), mask: mask.into() }
    }

    /// How many CPUs are there, while nobody comes or goes; else a number that was right at
    /// some instant for each CPU. One relaxed load.
    ///
    /// ```
    /// use core::sync::atomic::AtomicU64;
    /// use corelocal::{CpuId, Level};
    ///
    /// let idle: Level<[AtomicU64; 1]> = Level::default();
    /// (0..3).for_each(|cpu| drop(idle.enter(CpuId::new(cpu))));
    /// let wake = idle.count().min(8); // so many workers, at most
    /// assert_eq!(wake, 3);
    /// ```
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load() as usize
    }
}

impl<M: LevelMask<W>, P: Padding, W: Words> Level<M, P, W> {
    /// `cpu` comes to this level; says whether it was not there before, and changes nothing if it
    /// was. If it comes, that ends with a full barrier. Two atomic read-modify-writes.
    ///
    /// # Errors
    ///
    /// [`UnknownCpu`] if the mask has no bit for `cpu`.
    ///
    /// ```
    /// use core::sync::atomic::AtomicU64;
    /// use corelocal::{CpuId, Level};
    ///
    /// let idle: Level<[AtomicU64; 1]> = Level::default();
    /// assert_eq!(idle.enter(CpuId::new(5)), Ok(true));
    /// // After it, the CPU looks once more for work that came meanwhile: the barrier makes sure that
    /// // either it sees the work, or who brought the work sees it idle.
    /// assert_eq!(idle.enter(CpuId::new(5)), Ok(false), "it is there");
    /// ```
    pub fn enter(&self, cpu: CpuId) -> Result<bool, UnknownCpu> {
        let (word, bit) = self.bit(cpu)?;
        if word.load() & bit != 0 {
            return Ok(false);
        }
        protocol::enter::<W>(&self.count, word, bit);
        Ok(true)
    }

    /// `cpu` goes from this level; says whether it was there, and changes nothing if it was not.
    /// Two atomic read-modify-writes.
    ///
    /// # Errors
    ///
    /// [`UnknownCpu`] if the mask has no bit for `cpu`.
    ///
    /// ```
    /// use core::sync::atomic::AtomicU64;
    /// use corelocal::{CpuId, Level};
    ///
    /// let (low, high): (Level<[AtomicU64; 1]>, Level<[AtomicU64; 1]>) = Default::default();
    /// low.enter(CpuId::new(5))?;
    /// high.enter(CpuId::new(5))?; // the new level first,
    /// low.leave(CpuId::new(5))?;  // then the old one
    /// assert_eq!((low.count(), high.count()), (0, 1));
    /// # Ok::<(), corelocal::priority::UnknownCpu>(())
    /// ```
    pub fn leave(&self, cpu: CpuId) -> Result<bool, UnknownCpu> {
        let (word, bit) = self.bit(cpu)?;
        if word.load() & bit == 0 {
            return Ok(false);
        }
        protocol::leave::<W>(&self.count, word, bit);
        Ok(true)
    }

    /// Fills `found` with the CPUs of `allowed` that are at this level; says whether there are
    /// any. One load of the count, and if that is not zero one load for each 64 CPUs.
    ///
    /// Allocates if `found` has no room for so many words ([`CpuMask::with_bound`]).
    ///
    /// ```
    /// use core::sync::atomic::AtomicU64;
    /// use corelocal::{CpuId, CpuMask, Level};
    ///
    /// let levels: [Level<[AtomicU64; 1]>; 3] = Default::default();
    /// levels[1].enter(CpuId::new(5))?;
    /// levels[2].enter(CpuId::new(6))?;
    /// // Upwards, to the first level with somebody.
    /// let mut found = CpuMask::new();
    /// let lowest = levels.iter().position(|level| level.find(&CpuMask::first_cpus(8), &mut found));
    /// assert_eq!((lowest, found.to_string().as_str()), (Some(1), "5"));
    /// # Ok::<(), corelocal::priority::UnknownCpu>(())
    /// ```
    pub fn find(&self, allowed: &CpuMask, found: &mut CpuMask) -> bool {
        if !protocol::occupied::<W>(&self.count) {
            found.clear();
            return false;
        }
        let mut any = 0;
        let allowed = allowed.words().iter().enumerate();
        found.assign_words(allowed.map_while(|(at, allowed)| {
            let here = self.mask.word(at)?.load() & allowed;
            any |= here;
            Some(here)
        }));
        if any == 0 {
            protocol::passed_by();
        }
        any != 0
    }

    /// Whether `cpu` is in the mask. One relaxed load.
    ///
    /// ```
    /// use core::sync::atomic::AtomicU64;
    /// use corelocal::{CpuId, Level};
    ///
    /// let idle: Level<[AtomicU64; 1]> = Level::default();
    /// idle.enter(CpuId::new(5))?;
    /// let cached = CpuId::new(5); // where the task ran last: its data are there
    /// assert!(idle.contains(cached) && !idle.contains(CpuId::new(900)));
    /// # Ok::<(), corelocal::priority::UnknownCpu>(())
    /// ```
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.bit(cpu).is_ok_and(|(word, bit)| word.load() & bit != 0)
    }

    fn bit(&self, cpu: CpuId) -> Result<(&W::U64, u64), UnknownCpu> {
        let word = self.mask.word(cpu.index() / WORD_CPUS);
        let word = word.ok_or(UnknownCpu { cpu, bound: self.mask.cpus() })?;
        Ok((word, 1 << (cpu.index() % WORD_CPUS)))
    }
}

impl<M, P: Padding, W: Words> fmt::Debug for Level<M, P, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Level").field("count", &self.count()).finish_non_exhaustive()
    }
}
