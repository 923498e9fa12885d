//! The words a vector is made of: atomics, or atomics that tell an observer of each access.

use crate::bytes::Row;

/// Which words a vector is made of. Sealed: [`Atomic`], and `Observed` with `std`.
#[doc(hidden)]
pub trait Words: sealed::Sealed + core::fmt::Debug + Send + Sync + 'static {
    /// Lanes and masks.
    type U64: Word<u64>;
    /// Counts, and the levels of CPUs.
    type U32: Word<u32>;

    /// Two words' bytes; each word is loaded once.
    #[inline(always)]
    fn row([low, high]: &[Self::U64; 2]) -> Row {
        Row::new([low.load(), high.load()])
    }

    /// A plain read of `place`, a pointer or an index that lies beside words that change.
    fn plain_read<T: ?Sized>(place: &T);
}

/// One word. All accesses are relaxed: what orders them are the fences of the protocol.
#[doc(hidden)]
pub trait Word<V>: core::fmt::Debug + Send + Sync + 'static {
    fn new(value: V) -> Self;
    fn load(&self) -> V;
    fn store(&self, value: V);
    fn or(&self, bits: V);
    fn and(&self, bits: V);
    fn xor(&self, bits: V);
    fn add(&self, value: V);
    fn sub(&self, value: V);
    /// Sets `bits`; says what was there.
    fn fetch_or(&self, bits: V) -> V;
}

/// The real ones: nothing but the atomic.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Atomic;

pub(super) mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for Atomic {}

impl Words for Atomic {
    type U64 = crate::sync::AtomicU64;
    type U32 = crate::sync::AtomicU32;

    #[inline(always)]
    fn row(words: &[Self::U64; 2]) -> Row {
        Row::load(words)
    }

    #[inline(always)]
    fn plain_read<T: ?Sized>(_: &T) {}
}

macro_rules! words {
    ($($atomic:ident $value:ident)+) => { $(
        impl Word<$value> for crate::sync::$atomic {
            #[inline(always)]
            fn new(value: $value) -> Self {
                Self::new(value)
            }
            #[inline(always)]
            fn load(&self) -> $value {
                self.load(Ordering::Relaxed) // Relaxed: the protocol's fences order it.
            }
            #[inline(always)]
            fn store(&self, value: $value) {
                self.store(value, Ordering::Relaxed); // Relaxed: as above.
            }
            #[inline(always)]
            fn or(&self, bits: $value) {
                self.fetch_or(bits, Ordering::Relaxed); // Relaxed: as above.
            }
            #[inline(always)]
            fn and(&self, bits: $value) {
                self.fetch_and(bits, Ordering::Relaxed); // Relaxed: as above.
            }
            #[inline(always)]
            fn xor(&self, bits: $value) {
                self.fetch_xor(bits, Ordering::Relaxed); // Relaxed: as above.
            }
            #[inline(always)]
            fn add(&self, value: $value) {
                self.fetch_add(value, Ordering::Relaxed); // Relaxed: as above.
            }
            #[inline(always)]
            fn sub(&self, value: $value) {
                self.fetch_sub(value, Ordering::Relaxed); // Relaxed: as above.
            }
            #[inline(always)]
            fn fetch_or(&self, bits: $value) -> $value {
                self.fetch_or(bits, Ordering::Relaxed) // Relaxed: as above.
            }
        }
    )+ };
}
use crate::sync::Ordering;
words! { AtomicU64 u64 AtomicU32 u32 }
