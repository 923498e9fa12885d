//! [`PerCpuCell`]: a word that threads update in this CPU's copy, and load in any.

use crate::sync::Ordering;
use crate::sys::rseq::Int;
pub use crate::sys::rseq::Word;
use core::fmt;

/// A [`Word`] that can be added to: an integer. All arithmetic wraps.
///
/// ```
/// use corelocal::PerCpuRef;
/// use corelocal::percpu::{Number, PerCpuCell};
///
/// /// Counts in cells of any integer.
/// fn count<W: Number, O>(events: usize, cell: PerCpuRef<'_, PerCpuCell<W>, O>) {
///     (0..events).for_each(|_| cell.add(W::ONE));
/// }
/// let small = corelocal::PerCpu::<PerCpuCell<u32>>::zeroed();
/// count(3, small.as_ref());
/// assert_eq!(small.sum(), 3);
/// ```
pub trait Number: Int {
    /// Zero.
    ///
    /// ```
    /// use corelocal::percpu::{Number, PerCpuCell};
    ///
    /// fn is_unused<W: Number>(cell: &PerCpuCell<W>) -> bool {
    ///     cell.load() == W::ZERO
    /// }
    /// assert!(is_unused(corelocal::PerCpu::<PerCpuCell<i64>>::zeroed().spill()));
    /// ```
    const ZERO: Self;
    /// One.
    ///
    /// ```
    /// use corelocal::percpu::{Number, PerCpuCell};
    ///
    /// // A cell for each lane that begins at one.
    /// fn ones<W: Number>() -> corelocal::PerCpu<PerCpuCell<W>> {
    ///     corelocal::PerCpu::new(|_| PerCpuCell::new(W::ONE))
    /// }
    /// let cells = ones::<u64>();
    /// assert_eq!(cells.sum(), cells.lanes() as u64);
    /// ```
    const ONE: Self;

    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
    #[doc(hidden)]
    fn negated(self) -> Self;
}

macro_rules! number {
    ($($word:ty),+) => {$(
        impl Number for $word {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
        }
    )+};
}

number! { u8, u16, u32, u64, usize, i8, i16, i32, i64, isize }

/// A word in every lane.
///
/// Updates go through a handle ([`PerCpu`](crate::PerCpu), [`PerCpuRef`](crate::PerCpuRef), a
/// static of [`per_cpu!`](crate::per_cpu!)) to this CPU's copy; a `&PerCpuCell` can be loaded,
/// not updated, since another CPU's copy may only be updated from that CPU.
///
/// To other threads every update is one relaxed atomic store: it orders nothing but the word
/// itself. Sums of a word that only grows never go back within one thread.
///
/// ```
/// use corelocal::{PerCpu, PerCpuCell};
/// let hits: PerCpu<PerCpuCell<u32>> = PerCpu::new(|_| PerCpuCell::new(10));
/// let (lane, before) = hits.fetch_add(5);
/// assert_eq!((before, hits.lane(lane).unwrap().load()), (10, 15));
/// ```
#[repr(transparent)]
pub struct PerCpuCell<W: Word>(W::Atomic);

impl<W: Word> PerCpuCell<W> {
    /// A cell that holds `value`.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// // Ids that differ on all CPUs, without a shared counter: each lane counts in a range of its own.
    /// let next = PerCpu::new(|lane| PerCpuCell::new((lane.index() as u64) << 48));
    /// let (lane, id) = next.fetch_add(1);
    /// assert_eq!(id >> 48, lane.index() as u64);
    /// ```
    #[inline]
    pub fn new(value: W) -> Self {
        Self(value.atomic())
    }

    /// The value a moment ago. Relaxed.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// hits.add(5);
    /// // Which CPU does most of the work?
    /// let (busiest, cell) = hits.iter().max_by_key(|(_, cell)| cell.load()).unwrap();
    /// assert_eq!(cell.load(), 5, "all of it was in lane {}", busiest.index());
    /// ```
    #[inline]
    pub fn load(&self) -> W {
        // Relaxed: a cell orders nothing but itself.
        W::load(&self.0, Ordering::Relaxed)
    }

    /// The word, for the rooms above: theirs to update in the spill lane, and in every lane of a
    /// process without sections.
    #[inline]
    pub(crate) fn atomic(&self) -> &W::Atomic {
        &self.0
    }

    /// The value, and all that whoever replaced it saw before. For the spill lane's copy.
    #[inline]
    pub(super) fn load_replaced(&self) -> W {
        // Acquire [E40]: pairs with the Release in `replace`. Updates between the two are
        // read-modify-writes, which continue its release sequence.
        W::load(&self.0, Ordering::Acquire)
    }

    /// Puts `new` there if it holds `current`; says whether it did. For the spill lane's copy.
    #[inline]
    pub(super) fn replace(&self, current: W, new: W) -> bool {
        // Release [E40]: pairs with the Acquire in `load_replaced`: who sees `new` also sees what
        // this thread saw of the other lanes.
        new.compare_exchange(&self.0, current, Ordering::Release).is_ok()
    }
}

/// A loom atomic is not valid in zeroed memory: a model constructs each cell.
#[cfg(not(corelocal_loom))]
// SAFETY: an atomic integer or pointer has the representation of its value, and zero is a value
// of each `Word`.
unsafe impl<W: Word> bytemuck::Zeroable for PerCpuCell<W> {}

impl<W: Number> Default for PerCpuCell<W> {
    /// A cell that holds zero.
    #[inline]
    fn default() -> Self {
        Self::new(W::ZERO)
    }
}

impl<W: Word> fmt::Debug for PerCpuCell<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpuCell").field("bits", &(8 * size_of::<W>())).finish_non_exhaustive()
    }
}
