//! [`PerCpuPtr`]: an object without an owner, for those who keep their own books.

use super::PerCpu;
use super::handle::PerCpuRef;
use super::region::Region;
use super::stride::Shape;
use crate::cpu::Lane;
use core::fmt;
use core::ptr::NonNull;

/// A raw handle, from [`PerCpu::into_raw`]. One word, `Copy`; whoever holds it may use it only
/// while the object lives, and one holder gives it back with [`PerCpu::from_raw`].
///
/// ```
/// use corelocal::{PerCpu, PerCpuCell};
/// let raw = PerCpu::into_raw(PerCpu::<PerCpuCell<u64>>::zeroed());
/// // SAFETY: the handle is given back once, and not used afterwards.
/// let counter = unsafe { PerCpu::from_raw(raw) };
/// assert_eq!(counter.sum(), 0);
/// ```
#[repr(transparent)]
pub struct PerCpuPtr<T>(NonNull<T>);

// SAFETY: a raw handle does nothing by itself; its unsafe methods ask for what is needed.
unsafe impl<T> Send for PerCpuPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for PerCpuPtr<T> {}

impl<T> Clone for PerCpuPtr<T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PerCpuPtr<T> {}

impl<T> PartialEq for PerCpuPtr<T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for PerCpuPtr<T> {}

impl<T> fmt::Debug for PerCpuPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PerCpuPtr").field(&self.0).finish()
    }
}

impl<T> PerCpuPtr<T> {
    pub(crate) fn new(lane0: NonNull<T>) -> Self {
        Self(lane0)
    }

    pub(crate) fn lane0(self) -> NonNull<T> {
        self.0
    }

    /// Bytes from the beginning of a lane to the object: the same in every lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let area = corelocal::Area::builder().build()?;
    /// let raw = PerCpu::into_raw(area.try_alloc_zeroed::<[PerCpuCell<u64>; 8]>()?);
    /// // What a tool beside the program, which sees the lanes, has to know.
    /// let bytes = raw.offset()..raw.offset() + size_of::<[PerCpuCell<u64>; 8]>();
    /// assert!(bytes.start % 8 == 0 && bytes.end <= 64 * 1024);
    /// // SAFETY: the handle is given back once.
    /// drop(unsafe { PerCpu::from_raw(raw) });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn offset(self) -> usize {
        let shape = Shape::of::<T>();
        self.0.addr().get() & (shape.base_align - 1)
    }

    /// Lanes of the object, the spill lane included.
    ///
    /// # Safety
    ///
    /// The object lives.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let raw = PerCpu::into_raw(PerCpu::<PerCpuCell<u64>>::zeroed());
    /// // SAFETY: the object lives.
    /// assert_eq!(unsafe { raw.lanes() }, corelocal::Area::global().lanes());
    /// // SAFETY: the handle is given back once.
    /// drop(unsafe { PerCpu::from_raw(raw) });
    /// ```
    pub unsafe fn lanes(self) -> usize {
        // SAFETY: passed on to the caller.
        let region = unsafe { Region::of(self.0.cast(), Shape::of::<T>()) };
        // SAFETY: passed on to the caller.
        unsafe { region.header() }.cpus as usize + 1
    }

    /// The copy in `lane`.
    ///
    /// # Safety
    ///
    /// * The object lives.
    /// * `lane` is one of its lanes.
    ///
    /// ```
    /// # use corelocal::{CpuId, Lane, PerCpu};
    /// let raw = PerCpu::into_raw(PerCpu::new(|_| 1_u64));
    /// let zero = Lane::of_cpu(CpuId::new(0));
    /// // SAFETY: the object lives, and has a lane for CPU 0.
    /// let copy: *mut u64 = unsafe { raw.at(zero) };
    /// // SAFETY: nobody else uses the object.
    /// unsafe { copy.write(10) };
    /// // SAFETY: the handle is given back once.
    /// assert_eq!(unsafe { PerCpu::from_raw(raw) }.lane(zero), Some(&10));
    /// ```
    #[inline]
    pub unsafe fn at(self, lane: Lane) -> *mut T {
        // SAFETY: the lanes of a living object lie `STRIDE` apart in one mapping.
        unsafe { self.0.byte_add(lane.index() * PerCpuRef::<T>::STRIDE) }.as_ptr()
    }

    /// A handle that can be shared.
    ///
    /// # Safety
    ///
    /// The object lives as long as `'a`, and is only shared meanwhile.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell, PerCpuPtr};
    /// /// In a table of a C library's, say: one word without a lifetime.
    /// struct Entry { hits: PerCpuPtr<PerCpuCell<u64>> }
    /// impl Entry {
    ///     fn hit(&self) {
    ///         // SAFETY: the object lives as long as the entry, which alone holds the handle.
    ///         unsafe { self.hits.as_ref() }.inc();
    ///     }
    /// }
    /// let entry = Entry { hits: PerCpu::into_raw(PerCpu::zeroed()) };
    /// entry.hit();
    /// // SAFETY: the entry is not used any more.
    /// assert_eq!(unsafe { PerCpu::from_raw(entry.hits) }.sum(), 1);
    /// ```
    #[inline]
    pub unsafe fn as_ref<'a>(self) -> PerCpuRef<'a, T> {
        // SAFETY: passed on to the caller.
        unsafe { PerCpuRef::from_lane0(self.0) }
    }
}

impl<T> PerCpu<T> {
    /// Gives the object up for a raw handle; it is not dropped.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// // Through a callback that takes one word.
    /// extern "C" fn finished(data: *mut ()) {
    ///     // SAFETY: `data` is the box of a handle that was made for this one call.
    ///     let raw = *unsafe { Box::from_raw(data.cast()) };
    ///     // SAFETY: as above.
    ///     let hits: PerCpu<PerCpuCell<u64>> = unsafe { PerCpu::from_raw(raw) };
    ///     assert_eq!(hits.sum(), 2);
    /// }
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// hits.add(2);
    /// finished(Box::into_raw(Box::new(PerCpu::into_raw(hits))).cast());
    /// ```
    #[inline]
    pub fn into_raw(this: Self) -> PerCpuPtr<T> {
        PerCpuPtr::new(core::mem::ManuallyDrop::new(this).lane0())
    }

    /// Takes an object back from a raw handle.
    ///
    /// # Safety
    ///
    /// `raw` came from [`PerCpu::into_raw`], and is given back once; copies of it are not used
    /// once the object is gone.
    ///
    /// ```
    /// # use corelocal::PerCpu;
    /// let raw = PerCpu::into_raw(PerCpu::new(|_| String::from("x")));
    /// let copy = raw; // `Copy`: who gives it back is up to the holders
    /// // SAFETY: given back once, and `copy` is not used.
    /// let names = unsafe { PerCpu::from_raw(raw) };
    /// assert_eq!(names.this(), "x"); // dropped in every lane with `names`
    /// # let _ = copy;
    /// ```
    #[inline]
    pub unsafe fn from_raw(raw: PerCpuPtr<T>) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Self::from_lane0(raw.lane0()) }
    }

    /// A handle that lives for ever: the object is never dropped.
    ///
    /// ```
    /// use corelocal::{PerCpu, PerCpuCell, PerCpuRef};
    /// let hits: PerCpuRef<'static, PerCpuCell<u64>> = PerCpu::leak(PerCpu::zeroed());
    /// std::thread::spawn(move || hits.add(1)).join().unwrap();
    /// assert_eq!(hits.sum(), 1);
    /// ```
    #[inline]
    pub fn leak(this: Self) -> PerCpuRef<'static, T>
    where
        T: 'static,
    {
        // SAFETY: never dropped, and only shared from here on.
        unsafe { Self::into_raw(this).as_ref() }
    }
}
