//! Slices that begin on a cache line.

use super::mask::try_slice;
use crate::cacheline::CACHE_LINE;
use crate::error::AllocError;
use alloc::boxed::Box;
use core::ops::Deref;

/// Values side by side, the first one at the beginning of a line. (The heap puts small slices
/// anywhere: what is only read would share lines with what others write.)
#[derive(Debug)]
pub(super) struct Lined<T> {
    /// With some before the first one, and some behind the last one, that nobody looks at.
    values: Box<[T]>,
    first: u32,
    len: u32,
}

impl<T: Copy + Default> Lined<T> {
    /// The size of `T` divides a line, and there are fewer than 2^32.
    pub(super) fn try_new(len: usize, make: impl Fn(usize) -> T) -> Result<Self, AllocError> {
        const { assert!(CACHE_LINE % size_of::<T>() == 0) };
        let more = CACHE_LINE / size_of::<T>() - 1;
        let mut values = try_slice(len + more, |_| Ok(T::default()))?;
        let past = values.as_ptr().addr() % CACHE_LINE;
        // Not a whole number of values only where the heap aligns worse than their size.
        let first = ((CACHE_LINE - past) % CACHE_LINE).div_ceil(size_of::<T>()).min(more);
        for (at, value) in values[first..first + len].iter_mut().enumerate() {
            *value = make(at);
        }
        Ok(Self { values, first: first as u32, len: len as u32 })
    }
}

impl<T> Deref for Lined<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.values[self.first as usize..][..self.len as usize]
    }
}
