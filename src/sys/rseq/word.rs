//! What an operation can store: integers of 8 to 64 bits, and pointers.

use super::update;
use crate::sync::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

mod sealed {
    pub trait Sealed {}
}

/// A word that a [`PerCpuCell`](crate::PerCpuCell) can hold: an integer of 8 to 64 bits, or a
/// raw pointer.
///
/// Sealed: the operations are written once for each width.
///
/// ```
/// use corelocal::percpu::{PerCpuCell, Word};
/// use corelocal::{Lane, PerCpuRef};
///
/// /// Remembers what this CPU did last, whatever that is called.
/// fn note<W: Word>(last: PerCpuRef<'_, PerCpuCell<W>>, now: W) -> (Lane, W) {
///     last.swap(now)
/// }
/// let last = corelocal::PerCpu::new(|_| PerCpuCell::new(0_u8));
/// let (lane, before) = note(last.as_ref(), 7);
/// assert_eq!((before, last.lane(lane).unwrap().load()), (0, 7));
/// ```
pub trait Word: Copy + PartialEq + sealed::Sealed {
    /// As what the rest of the program sees it.
    #[doc(hidden)]
    type Atomic;

    /// The bits, zero-extended. A pointer's provenance is exposed.
    #[doc(hidden)]
    fn bits(self) -> u64;
    /// The value of the low bits.
    #[doc(hidden)]
    fn of(bits: u64) -> Self;
    /// An atomic that holds `self`.
    #[doc(hidden)]
    fn atomic(self) -> Self::Atomic;
    /// Loads.
    #[doc(hidden)]
    fn load(from: &Self::Atomic, order: Ordering) -> Self;
    /// Stores `self`.
    #[doc(hidden)]
    fn store(self, to: &Self::Atomic, order: Ordering);
    /// Stores `self`; returns what was there.
    #[doc(hidden)]
    fn swap(self, to: &Self::Atomic, order: Ordering) -> Self;
    /// Stores `self` if `expect` is there.
    ///
    /// # Errors
    ///
    /// What is there instead.
    #[doc(hidden)]
    fn compare_exchange(
        self,
        to: &Self::Atomic,
        expect: Self,
        order: Ordering,
    ) -> Result<Self, Self>;
}

/// A word with arithmetic.
pub trait Int: Word {
    /// `*to = *to OP self`, wrapping; returns what was there. `op` is one of [`update`].
    #[doc(hidden)]
    fn update(self, to: &Self::Atomic, op: u32, order: Ordering) -> Self;
}

macro_rules! ints {
    ($($int:ty => $unsigned:ty, $atomic:ty;)*) => { $(
        impl sealed::Sealed for $int {}

        impl Word for $int {
            type Atomic = $atomic;

            #[inline(always)]
            #[allow(clippy::cast_lossless, reason = "one text for all widths")]
            fn bits(self) -> u64 {
                self as $unsigned as u64
            }

            #[inline(always)]
            fn of(bits: u64) -> Self {
                bits as Self
            }

            #[inline]
            fn atomic(self) -> $atomic {
                <$atomic>::new(self)
            }

            #[inline(always)]
            fn load(from: &$atomic, order: Ordering) -> Self {
                from.load(order)
            }

            #[inline(always)]
            fn store(self, to: &$atomic, order: Ordering) {
                to.store(self, order);
            }

            #[inline(always)]
            fn swap(self, to: &$atomic, order: Ordering) -> Self {
                to.swap(self, order)
            }

            #[inline(always)]
            fn compare_exchange(
                self,
                to: &$atomic,
                expect: Self,
                order: Ordering,
            ) -> Result<Self, Self> {
                // Relaxed on failure: nothing was stored, and the caller learns a value only.
                to.compare_exchange(expect, self, order, Ordering::Relaxed)
            }
        }

        impl Int for $int {
            #[inline(always)]
            fn update(self, to: &$atomic, op: u32, order: Ordering) -> Self {
                match op {
                    update::ADD => to.fetch_add(self, order),
                    update::AND => to.fetch_and(self, order),
                    update::OR => to.fetch_or(self, order),
                    _ => to.fetch_xor(self, order),
                }
            }
        }
    )* };
}

ints! {
    u8 => u8, AtomicU8;
    u16 => u16, AtomicU16;
    u32 => u32, AtomicU32;
    u64 => u64, AtomicU64;
    usize => usize, AtomicUsize;
    i8 => u8, AtomicI8;
    i16 => u16, AtomicI16;
    i32 => u32, AtomicI32;
    i64 => u64, AtomicI64;
    isize => usize, AtomicIsize;
}

impl<T> sealed::Sealed for *mut T {}

impl<T> Word for *mut T {
    type Atomic = AtomicPtr<T>;

    #[inline(always)]
    fn bits(self) -> u64 {
        self.expose_provenance() as u64
    }

    #[inline(always)]
    fn of(bits: u64) -> Self {
        core::ptr::with_exposed_provenance_mut(bits as usize)
    }

    #[inline]
    fn atomic(self) -> AtomicPtr<T> {
        AtomicPtr::new(self)
    }

    #[inline(always)]
    fn load(from: &AtomicPtr<T>, order: Ordering) -> Self {
        from.load(order)
    }

    #[inline(always)]
    fn store(self, to: &AtomicPtr<T>, order: Ordering) {
        to.store(self, order);
    }

    #[inline(always)]
    fn swap(self, to: &AtomicPtr<T>, order: Ordering) -> Self {
        to.swap(self, order)
    }

    #[inline(always)]
    fn compare_exchange(
        self,
        to: &AtomicPtr<T>,
        expect: Self,
        order: Ordering,
    ) -> Result<Self, Self> {
        // Relaxed on failure: nothing was stored, and the caller learns a value only.
        to.compare_exchange(expect, self, order, Ordering::Relaxed)
    }
}
