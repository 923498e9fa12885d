//! [`PerCpuBytes`]: as many bytes in every lane as are asked for at run time.

use super::area::{Area, Inner};
use super::stride::{SMALL_ALIGN, Shape};
use crate::error::AllocError;
use core::ptr::NonNull;

/// Bytes in every lane, aligned to a cache line, which nobody initialised. Lanes that nobody touches
/// take no memory.
///
/// The stride depends on the size: it is no constant of a type, so no handle leads here.
#[derive(Debug)]
pub(crate) struct PerCpuBytes {
    lane0: NonNull<u8>,
    size: usize,
}

// SAFETY: the owner of bytes that it does not look at.
unsafe impl Send for PerCpuBytes {}
// SAFETY: as above.
unsafe impl Sync for PerCpuBytes {}

impl PerCpuBytes {
    /// `size` bytes in every lane of the area.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    pub(crate) fn try_new(area: &Area, size: usize) -> Result<Self, AllocError> {
        let block = area.inner().alloc(size, SMALL_ALIGN)?;
        Ok(Self { lane0: block.lane0, size })
    }

    /// Lane 0's bytes.
    pub(crate) fn lane0(&self) -> NonNull<u8> {
        self.lane0
    }

    /// Bytes from one lane's to the next one's.
    pub(crate) fn stride(&self) -> usize {
        Shape::new(self.size, SMALL_ALIGN).stride
    }
}

impl Drop for PerCpuBytes {
    fn drop(&mut self) {
        // SAFETY: the block came from `alloc` with this size and alignment, and nobody else is left.
        unsafe { Inner::free(self.lane0, self.size, SMALL_ALIGN) };
    }
}
