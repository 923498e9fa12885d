//! The masks of levels: which CPUs are there.

use super::word::{Word, Words};
use crate::cacheline::CacheLine;
use crate::error::AllocError;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Words in a [`MaskLine`].
pub(super) const LINE_WORDS: usize = 8;
/// CPUs in a word.
pub(super) const WORD_CPUS: usize = u64::BITS as usize;

/// The words of a level's mask, in the level or out of line. Sealed: arrays and boxed slices of
/// `AtomicU64`, and what the layouts use.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use corelocal::priority::LevelMask;
/// use corelocal::{CpuId, Level};
///
/// /// For masks in the level and for masks on the heap.
/// fn enters<M: LevelMask<corelocal::priority::Atomic>>(mask: M) -> bool {
///     Level::<M>::new(mask).enter(CpuId::new(63)).is_ok()
/// }
/// let on_the_heap: Box<[AtomicU64]> = Box::new([AtomicU64::new(0)]);
/// assert!(enters([AtomicU64::new(0)]) && enters(on_the_heap));
/// ```
pub trait LevelMask<W: Words>: sealed::Sealed<W> {
    /// How many CPUs have a bit: ids from 0 on.
    #[doc(hidden)]
    fn cpus(&self) -> usize;

    /// The word of CPUs `64 * at..`, if there is one.
    #[doc(hidden)]
    fn word(&self, at: usize) -> Option<&W::U64>;
}

mod sealed {
    use super::super::word::Words;
    pub trait Sealed<W: Words> {}
    impl<W: Words, const N: usize> Sealed<W> for [W::U64; N] {}
    impl<W: Words> Sealed<W> for alloc::boxed::Box<[W::U64]> {}
}

impl<W: Words, const N: usize> LevelMask<W> for [W::U64; N] {
    #[inline(always)]
    fn cpus(&self) -> usize {
        N * WORD_CPUS
    }

    #[inline(always)]
    fn word(&self, at: usize) -> Option<&W::U64> {
        self.get(at)
    }
}

impl<W: Words> LevelMask<W> for Box<[W::U64]> {
    fn cpus(&self) -> usize {
        self.len() * WORD_CPUS
    }

    #[inline(always)]
    fn word(&self, at: usize) -> Option<&W::U64> {
        W::plain_read(self);
        self.get(at)
    }
}

/// The first 512 CPUs of a mask that lies out of line, behind one pointer.
#[doc(hidden)]
#[derive(Debug)]
pub struct MaskLine<W: Words>(Box<[CacheLine<[W::U64; LINE_WORDS]>; 1]>);

impl<W: Words> MaskLine<W> {
    /// A mask without CPUs.
    pub(super) fn try_new() -> Result<Self, AllocError> {
        try_boxed(CacheLine::new(core::array::from_fn(|_| W::U64::new(0)))).map(Self)
    }

    /// Its words.
    #[inline(always)]
    pub(super) fn words(&self) -> &[W::U64; LINE_WORDS] {
        W::plain_read(&self.0);
        &self.0[0]
    }
}

/// `length` values on the heap, or an error that says how many bytes there were not.
pub(super) fn try_slice<T>(
    length: usize,
    mut make: impl FnMut(usize) -> Result<T, AllocError>,
) -> Result<Box<[T]>, AllocError> {
    let mut values = Vec::new();
    let refused = AllocError::OutOfMemory { bytes: length.saturating_mul(size_of::<T>()) };
    values.try_reserve_exact(length).map_err(|_| refused)?;
    for at in 0..length {
        values.push(make(at)?);
    }
    Ok(values.into_boxed_slice())
}

/// One value on the heap, or an error.
pub(super) fn try_boxed<T>(value: T) -> Result<Box<[T; 1]>, AllocError> {
    let mut value = Some(value);
    let one = try_slice(1, |_| Ok(value.take().expect("one value is asked for once")))?;
    Ok(one.try_into().unwrap_or_else(|_| unreachable!("the slice was made with one value")))
}
