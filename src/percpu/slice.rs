//! [`PerCpuSlice`]: as many words side by side in every lane as are asked for at run time.

use super::area::{Area, Inner};
use super::cell::{Number, PerCpuCell};
use super::create;
use super::handle::PerCpuRef;
use super::stride::SMALL_SIZE;
use crate::error::AllocError;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Up to [`PerCpuSlice::MAX`] cells of one allocation, in every lane.
///
/// The stride is that of the small class, as a single cell's is: so the handle to each cell is that
/// of a cell that was allocated alone.
pub(crate) struct PerCpuSlice<W: Number> {
    lane0: NonNull<PerCpuCell<W>>,
    len: usize,
    _cells: PhantomData<PerCpuCell<W>>,
}

// SAFETY: the owner of the cells, which give out `&PerCpuCell` only, as a `PerCpu` of one does.
unsafe impl<W: Number> Send for PerCpuSlice<W> where PerCpuCell<W>: Send {}
// SAFETY: as above.
unsafe impl<W: Number> Sync for PerCpuSlice<W> where PerCpuCell<W>: Sync {}

impl<W: Number> PerCpuSlice<W> {
    /// The most cells in one allocation: what the small class serves.
    pub(crate) const MAX: usize = SMALL_SIZE / size_of::<PerCpuCell<W>>();
    const ALIGN: usize = align_of::<PerCpuCell<W>>();

    /// `len` cells of zero. Memory that was never used is not touched.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// # Panics
    ///
    /// If `len` is more than [`MAX`](Self::MAX).
    pub(crate) fn try_zeroed(area: &Area, len: usize) -> Result<Self, AllocError> {
        assert!(len <= Self::MAX, "{len} cells are more than the small class serves");
        let size = len * size_of::<PerCpuCell<W>>();
        let inner = area.inner();
        let block = inner.alloc(size, Self::ALIGN)?;
        if !block.fresh {
            let (stride, lanes) = (PerCpuRef::<PerCpuCell<W>>::STRIDE, inner.cpus() as usize + 1);
            // SAFETY: the block is ours, with this size, in that many lanes of the small class.
            unsafe { create::clear(block.lane0, size, stride, lanes) };
        }
        Ok(Self { lane0: block.lane0.cast(), len, _cells: PhantomData })
    }

    /// How many cells there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Cell `i` in every lane, or `None` if there is none.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> Option<PerCpuRef<'_, PerCpuCell<W>>> {
        if i >= self.len {
            return None;
        }
        // SAFETY: cell `i` of `len` lies in the block.
        let cell = unsafe { self.lane0.add(i) };
        // SAFETY:
        // * the block is of the small class, whose stride and lane 0 are those of a single cell;
        // * zero is a cell, in every lane; the cells are shared only while `self` is borrowed.
        Some(unsafe { PerCpuRef::from_lane0(cell) })
    }
}

impl<W: Number> Drop for PerCpuSlice<W> {
    fn drop(&mut self) {
        let size = self.len * size_of::<PerCpuCell<W>>();
        // SAFETY: the block came from `alloc` with this size and alignment, and nobody else is
        // left; cells need no drop.
        unsafe { Inner::free(self.lane0.cast(), size, Self::ALIGN) };
    }
}
