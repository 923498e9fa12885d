//! [`PtrArray`]: one pointer for each CPU, as `tg->cfs_rq` and `tg->se` were.

#![allow(unsafe_code, reason = "an array of owned pointers into larger objects")]

use super::Piece;
use crate::structs::{Kernel, SeStats, Watched};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use corelocal::CpuId;

/// A structure that begins with a `T`.
///
/// # Safety
///
/// A `T` lies at offset 0 of every value.
pub unsafe trait StartsWith<T> {}

// SAFETY:
// * `repr(C)` puts the first field, the entity, at offset 0.
unsafe impl<K: Kernel> StartsWith<K::Se> for SeStats<K> {}

/// Pointers to one `T` for each CPU, which are the first fields of owned `O`s, or borrowed.
pub struct PtrArray<T, O> {
    ptrs: Box<[Option<NonNull<T>>]>,
    owned: bool,
    _owns: PhantomData<Box<O>>,
}

// SAFETY:
// * the array owns or shares `O`s, and hands out `&O` and `&T` only.
unsafe impl<T: Send + Sync, O: Send + Sync> Send for PtrArray<T, O> {}
// SAFETY:
// * as above.
unsafe impl<T: Send + Sync, O: Send + Sync> Sync for PtrArray<T, O> {}

impl<T, O: StartsWith<T>> PtrArray<T, O> {
    /// An array without objects, for `cpus` CPUs: what the root has for its entities.
    pub(super) fn empty(cpus: usize) -> Self {
        Self { ptrs: vec![None; cpus].into(), owned: true, _owns: PhantomData }
    }

    /// Puts `object` in the place of `cpu`, dropping what was there.
    pub(super) fn put(&mut self, cpu: CpuId, object: Box<O>) {
        assert!(self.owned, "a borrowing array cannot own an object");
        let old = self.ptrs[cpu.index()].replace(NonNull::from(Box::leak(object)).cast());
        drop(old.map(Self::take));
    }

    /// An array that borrows.
    ///
    /// # Safety
    ///
    /// The objects outlive the array and stay where they are.
    pub(super) unsafe fn borrowing<'a>(objects: impl Iterator<Item = &'a T>) -> Self
    where
        T: 'a,
    {
        let ptrs = objects.map(|object| Some(NonNull::from(object))).collect();
        Self { ptrs, owned: false, _owns: PhantomData }
    }

    /// The object of `cpu`. `W` is told what is used.
    #[inline(always)]
    pub(super) fn get<W: Watched>(&self, cpu: CpuId) -> Option<&T> {
        // SAFETY:
        // * an owned pointer came from a box that `Drop` alone takes back, and an `O` begins with
        //   a `T`; a borrowed one is promised to `borrowing`.
        W::touched(&W::touched(self).ptrs[cpu.index()]).map(|ptr| unsafe { ptr.as_ref() })
    }

    /// The whole object of `cpu`, if the array owns its objects. `W` is told what is used.
    #[inline(always)]
    pub(super) fn owner<W: Watched>(&self, cpu: CpuId) -> Option<&O> {
        if !W::touched(self).owned {
            return None;
        }
        // SAFETY:
        // * an owned pointer was made from a `Box<O>` and keeps its provenance.
        W::touched(&self.ptrs[cpu.index()]).map(|ptr| unsafe { ptr.cast::<O>().as_ref() })
    }

    /// Where the array lies, and where its objects, if it owns them.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece> {
        let array = Piece::Array(self.ptrs.as_ptr().addr(), size_of_val(&*self.ptrs));
        let owned = self.ptrs.iter().flatten().filter(|_| self.owned);
        let objects = owned.map(|ptr| Piece::Object(ptr.addr().get(), size_of::<O>()));
        core::iter::once(array).chain(objects)
    }

    fn take(ptr: NonNull<T>) -> Box<O> {
        // SAFETY:
        // * called once for each pointer that `put` got from a `Box<O>`.
        unsafe { Box::from_raw(ptr.cast::<O>().as_ptr()) }
    }
}

impl<T, O> Drop for PtrArray<T, O> {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        for ptr in self.ptrs.iter().flatten() {
            // SAFETY:
            // * each owned pointer came from a `Box<O>` and is taken back here, once.
            drop(unsafe { Box::from_raw(ptr.cast::<O>().as_ptr()) });
        }
    }
}

impl<T, O> fmt::Debug for PtrArray<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PtrArray").field("cpus", &self.ptrs.len()).finish_non_exhaustive()
    }
}
