//! [`PerCpuCell`]: a word that threads update in this CPU's copy, and load in any.

use crate::sync::Ordering;
use crate::sync::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize,
};
use core::fmt;

mod sealed {
    pub trait Sealed {}
}

/// A word that a [`PerCpuCell`] can hold: an integer of 8 to 64 bits, or a raw pointer.
///
/// Sealed: the operations are written once for each width.
pub trait Word: sealed::Sealed + Copy {
    /// The word as other threads see it.
    #[doc(hidden)]
    type Atomic;

    #[doc(hidden)]
    fn atomic(self) -> Self::Atomic;
    #[doc(hidden)]
    fn load(from: &Self::Atomic) -> Self;
    #[doc(hidden)]
    fn swap(to: &Self::Atomic, new: Self) -> Self;
    #[doc(hidden)]
    fn compare_exchange(to: &Self::Atomic, current: Self, new: Self) -> Result<Self, Self>;
}

/// A [`Word`] that can be added to: an integer. All arithmetic wraps.
pub trait Number: Word {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
    #[doc(hidden)]
    fn negated(self) -> Self;
    #[doc(hidden)]
    fn fetch_add(to: &Self::Atomic, value: Self) -> Self;
}

macro_rules! word {
    ([$($generics:tt)*] $word:ty, $atomic:ty) => {
        impl<$($generics)*> sealed::Sealed for $word {}

        impl<$($generics)*> Word for $word {
            type Atomic = $atomic;

            #[inline]
            fn atomic(self) -> Self::Atomic {
                <$atomic>::new(self)
            }

            // Relaxed, all: a cell orders nothing but itself (see `PerCpuCell`).
            #[inline]
            fn load(from: &Self::Atomic) -> Self {
                from.load(Ordering::Relaxed)
            }

            #[inline]
            fn swap(to: &Self::Atomic, new: Self) -> Self {
                to.swap(new, Ordering::Relaxed)
            }

            #[inline]
            fn compare_exchange(to: &Self::Atomic, current: Self, new: Self) -> Result<Self, Self> {
                to.compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed)
            }
        }
    };
}

macro_rules! number {
    ($($word:ty: $atomic:ty),+ $(,)?) => {$(
        word!([] $word, $atomic);

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

            #[inline]
            fn fetch_add(to: &Self::Atomic, value: Self) -> Self {
                // Relaxed: as above.
                to.fetch_add(value, Ordering::Relaxed)
            }
        }
    )+};
}

number! {
    u8: AtomicU8, u16: AtomicU16, u32: AtomicU32, u64: AtomicU64, usize: AtomicUsize,
    i8: AtomicI8, i16: AtomicI16, i32: AtomicI32, i64: AtomicI64, isize: AtomicIsize,
}
word!([T] *mut T, AtomicPtr<T>);

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
    #[inline]
    pub fn new(value: W) -> Self {
        Self(value.atomic())
    }

    /// The value a moment ago. Relaxed.
    #[inline]
    pub fn load(&self) -> W {
        W::load(&self.0)
    }

    #[inline]
    pub(super) fn swap(&self, new: W) -> W {
        W::swap(&self.0, new)
    }

    #[inline]
    pub(super) fn compare_exchange(&self, current: W, new: W) -> Result<W, W> {
        W::compare_exchange(&self.0, current, new)
    }
}

impl<W: Number> PerCpuCell<W> {
    #[inline]
    pub(super) fn fetch_add(&self, value: W) -> W {
        W::fetch_add(&self.0, value)
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
