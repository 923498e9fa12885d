//! [`AtomicPerCpu`]: the slot that readers load from.

use super::error::CompareExchangeError;
use super::unlinked::Unlinked;
use super::{Guard, check};
use crate::percpu::{PerCpu, PerCpuPtr, PerCpuRef};
use crate::sync::{AtomicPtr, Ordering, const_unless_loom};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

/// A slot for a per-CPU object that any thread may load, and any thread replace.
///
/// One word: the handle of the object, or null. It owns the object in it. What is taken out comes as
/// an [`Unlinked`], which is freed when the readers that came before are done; dropping the slot
/// itself frees the object at once, since readers borrow the slot.
///
/// | operation | cost | progress |
/// |---|---|---|
/// | [`load`](Self::load) | one load, and a look at the guard | wait-free |
/// | [`swap`](Self::swap), [`compare_exchange`](Self::compare_exchange) | one atomic read-modify-write | wait-free |
/// | [`retire`](Self::retire), [`Unlinked::retire`] | a few stores; each 64th an allocation and a barrier | lock-free |
///
/// **Bounds.** The slot is `Send` if `T` is, and `Sync` if `T` is `Send + Sync`, as [`PerCpu`] is. To take
/// an object out, `T` must be `Send + 'static`: whichever thread finds that the readers are done drops
/// it, at whatever time. A slot that is only filled and loaded needs neither.
///
/// **Orderings.** What was written before an object was put into the slot is seen by who loads it
/// (Release and Acquire, edge E90 of [`docs::orderings`](crate::docs::orderings)). What readers did with
/// an object happens before it is freed, or handed to a callback.
///
/// ```
/// use corelocal::{AtomicPerCpu, PerCpu, reclaim::pin};
///
/// let slot = AtomicPerCpu::new(PerCpu::new(|lane| format!("lane {}", lane.index())));
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let guard = pin();
///         let names = slot.load(&guard).expect("never emptied");
///         assert!(names.iter().all(|(_, name)| name.starts_with("lane")));
///     });
///     // The old names are freed when their readers are done. Nobody waits for that.
///     slot.swap(Some(PerCpu::new(|lane| format!("lane no. {}", lane.index()))), &pin());
/// });
/// ```
pub struct AtomicPerCpu<T> {
    lane0: AtomicPtr<T>,
    _object: PhantomData<PerCpu<T>>,
}

impl<T> AtomicPerCpu<T> {
    const_unless_loom! {
        /// An empty slot.
        ///
        /// ```
        /// use corelocal::{AtomicPerCpu, PerCpuCell};
        /// static SLOT: AtomicPerCpu<PerCpuCell<u64>> = AtomicPerCpu::null();
        /// assert!(SLOT.is_null());
        /// ```
        #[must_use]
        pub const fn null() -> Self {
            Self { lane0: AtomicPtr::new(ptr::null_mut()), _object: PhantomData }
        }
    }

    /// A slot with an object in it.
    ///
    /// ```
    /// # use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim::pin};
    /// struct Route { hits: AtomicPerCpu<PerCpuCell<u64>> }
    /// let route = Route { hits: AtomicPerCpu::new(PerCpu::zeroed()) };
    /// let guard = pin();
    /// route.hits.load(&guard).expect("never emptied").add(2);
    /// assert_eq!(route.hits.load(&guard).map(|hits| hits.sum()), Some(2));
    /// ```
    #[must_use]
    pub fn new(object: PerCpu<T>) -> Self {
        Self::from(Some(object))
    }

    /// The object in the slot, or `None` if it is empty, for as long as `guard` stays pinned.
    ///
    /// The handle does all that a handle does. It borrows the slot as well: that is why a slot can be
    /// dropped without waiting.
    ///
    /// # Panics
    ///
    /// If the guard is `unprotected()`, or of another collector than [`pin`](super::pin)'s: it would
    /// keep nothing alive.
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim::pin};
    /// let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
    /// let guard = pin();
    /// slot.load(&guard).unwrap().add(1);
    /// assert_eq!(slot.load(&guard).unwrap().sum(), 1);
    /// ```
    #[inline]
    #[track_caller]
    pub fn load<'g>(&'g self, guard: &'g Guard) -> Option<PerCpuRef<'g, T>> {
        check(guard);
        // Acquire [E90]: pairs with the Release of whoever put the object here.
        let lane0 = NonNull::new(self.lane0.load(Ordering::Acquire))?;
        // SAFETY:
        // * what is in the slot is a whole object of a `PerCpu<T>`, made before it came here.
        // * it is shared only, and not freed while `guard` is pinned (who takes it out defers that
        //   behind every such guard) and the slot is borrowed (whose owner would free it).
        Some(unsafe { PerCpuRef::from_lane0(lane0) })
    }

    /// Whether the slot is empty now. For a hint, no guard is needed.
    ///
    /// ```
    /// # use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim::pin};
    /// static DETAILS: AtomicPerCpu<PerCpuCell<u64>> = AtomicPerCpu::null();
    /// /// Counts in detail only where somebody switched that on: no pin where nobody did.
    /// fn hit() {
    ///     if !DETAILS.is_null() {
    ///         if let Some(details) = DETAILS.load(&pin()) {
    ///             details.inc();
    ///         }
    ///     }
    /// }
    /// hit();
    /// DETAILS.swap(Some(PerCpu::zeroed()), &pin());
    /// hit();
    /// assert_eq!(DETAILS.load(&pin()).map(|details| details.sum()), Some(1));
    /// ```
    pub fn is_null(&self) -> bool {
        // Relaxed: nothing is reached through it.
        self.lane0.load(Ordering::Relaxed).is_null()
    }

    /// The object, by its owner: there are no readers, as they would borrow the slot.
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu};
    /// let mut slot = AtomicPerCpu::new(PerCpu::new(|_| 1));
    /// slot.get_mut().unwrap().iter_mut().for_each(|(_, number)| *number = 2);
    /// assert!(slot.into_inner().unwrap().iter().all(|(_, number)| *number == 2));
    /// ```
    #[cfg(not(corelocal_loom))]
    pub fn get_mut(&mut self) -> Option<&mut PerCpu<T>> {
        let lane0 = self.lane0.get_mut();
        if lane0.is_null() {
            return None;
        }
        // SAFETY:
        // * a `PerCpu<T>` is a transparent `NonNull<T>`, and a pointer that is not null is one.
        // * the slot owns the object, and is borrowed exclusively for as long as the result.
        Some(unsafe { &mut *ptr::from_mut(lane0).cast::<PerCpu<T>>() })
    }

    /// The object, out of a slot that nobody else has. The slot is gone.
    ///
    /// ```
    /// # use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim::pin};
    /// let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
    /// slot.load(&pin()).unwrap().add(3);
    /// let last = slot.into_inner().expect("it was not emptied"); // at the end, by its owner
    /// assert_eq!(last.sum(), 3);
    /// ```
    #[must_use]
    pub fn into_inner(mut self) -> Option<PerCpu<T>> {
        self.take()
    }

    fn take(&mut self) -> Option<PerCpu<T>> {
        // Relaxed, both: whatever made the slot exclusively ours ordered it.
        let lane0 = self.lane0.load(Ordering::Relaxed);
        self.lane0.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the slot owned it, and is empty now; readers would borrow the slot.
        unsafe { from_word(lane0) }
    }
}

impl<T: Send + 'static> AtomicPerCpu<T> {
    /// Puts `new` into the slot and takes out what was there.
    ///
    /// Readers that loaded it before may go on using it. Dropping the result retires it
    /// ([`Unlinked::retire`]), so to replace an object is one call.
    ///
    /// # Panics
    ///
    /// As [`load`](Self::load), before anything is changed; `new` is dropped then.
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, reclaim::pin};
    /// let slot = AtomicPerCpu::null();
    /// let guard = pin();
    /// assert!(slot.swap(Some(PerCpu::new(|_| 1)), &guard).is_none());
    /// let first = slot.load(&guard).unwrap();
    /// let old = slot.swap(Some(PerCpu::new(|_| 2)), &guard).unwrap();
    /// assert_eq!((*first.spill(), *old.as_ref().spill()), (1, 1));
    /// assert_eq!(*slot.load(&guard).unwrap().spill(), 2);
    /// ```
    #[track_caller]
    pub fn swap(&self, new: Option<PerCpu<T>>, guard: &Guard) -> Option<Unlinked<T>> {
        check(guard);
        // AcqRel [E90]: Release, for who loads `new`; Acquire, for what the result's holder reads.
        let old = self.lane0.swap(into_word(new), Ordering::AcqRel);
        // SAFETY: the slot owned it, and the swap gave it to us alone.
        unsafe { from_word(old) }.map(Unlinked::new)
    }

    /// Puts `new` into the slot if `current` is in it, and takes `current` out.
    ///
    /// For several writers without a lock: load, make a changed copy, and put that in the place of
    /// what was copied. Handles are compared, not values. While a guard under which `current` was
    /// loaded is pinned, no other object can have its place (no ABA).
    ///
    /// # Errors
    ///
    /// [`CompareExchangeError`]: what is in the slot, and `new` back.
    ///
    /// # Panics
    ///
    /// As [`swap`](Self::swap).
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, reclaim::pin};
    /// let slot = AtomicPerCpu::new(PerCpu::new(|_| 1));
    /// let guard = pin();
    /// let mut seen = slot.load(&guard);
    /// let mut next = PerCpu::new(|_| seen.map_or(0, |seen| *seen.spill()) + 1);
    /// while let Err(lost) = slot.compare_exchange(seen, Some(next), &guard) {
    ///     seen = lost.current;
    ///     next = PerCpu::new(|_| seen.map_or(0, |seen| *seen.spill()) + 1);
    /// }
    /// assert_eq!(*slot.load(&guard).unwrap().spill(), 2);
    /// ```
    #[track_caller]
    pub fn compare_exchange<'g>(
        &'g self,
        current: Option<PerCpuRef<'_, T>>,
        new: Option<PerCpu<T>>,
        guard: &'g Guard,
    ) -> Result<Option<Unlinked<T>>, CompareExchangeError<'g, T>> {
        check(guard);
        let expected = current.map_or(ptr::null_mut(), |object| object.lane0().as_ptr());
        let word = into_word(new);
        // AcqRel and Acquire [E90]: as in `swap`; and for who reads what it lost to.
        match self.lane0.compare_exchange(expected, word, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the slot owned it, and the exchange gave it to us alone.
            Ok(old) => Ok(unsafe { from_word(old) }.map(Unlinked::new)),
            Err(found) => Err(CompareExchangeError {
                // SAFETY: as in `load`.
                current: NonNull::new(found).map(|at| unsafe { PerCpuRef::from_lane0(at) }),
                // SAFETY: it is ours still: nobody else has seen it.
                new: unsafe { from_word(word) },
            }),
        }
    }

    /// Empties the slot, and drops what was in it when all readers that are pinned now are done.
    /// Says whether there was something.
    ///
    /// The same as `swap(None, guard)` and [`Unlinked::retire`].
    ///
    /// # Panics
    ///
    /// As [`load`](Self::load).
    ///
    /// ```
    /// # use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim::pin};
    /// let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
    /// let guard = pin();
    /// let details = slot.load(&guard).unwrap();
    /// assert!(slot.retire(&guard));   // switched off,
    /// details.inc();                  // while this reader is still at it
    /// assert!(!slot.retire(&guard) && slot.is_null());
    /// ```
    #[track_caller]
    pub fn retire(&self, guard: &Guard) -> bool {
        let old = self.swap(None, guard);
        old.map(|old| old.retire(guard)).is_some()
    }
}

/// An object as the word of a slot, which owns it from here on.
fn into_word<T>(object: Option<PerCpu<T>>) -> *mut T {
    object.map_or(ptr::null_mut(), |object| PerCpu::into_raw(object).lane0().as_ptr())
}

/// # Safety
///
/// The word came from [`into_word`], and its object is the caller's.
unsafe fn from_word<T>(word: *mut T) -> Option<PerCpu<T>> {
    // SAFETY: passed on to the caller.
    NonNull::new(word).map(|lane0| unsafe { PerCpu::from_raw(PerCpuPtr::new(lane0)) })
}

impl<T> Drop for AtomicPerCpu<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for AtomicPerCpu<T> {
    /// An empty slot.
    fn default() -> Self {
        Self::null()
    }
}

impl<T> From<PerCpu<T>> for AtomicPerCpu<T> {
    fn from(object: PerCpu<T>) -> Self {
        Self::new(object)
    }
}

impl<T> From<Option<PerCpu<T>>> for AtomicPerCpu<T> {
    fn from(object: Option<PerCpu<T>>) -> Self {
        Self { lane0: AtomicPtr::new(into_word(object)), _object: PhantomData }
    }
}

impl<T> fmt::Debug for AtomicPerCpu<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicPerCpu")
            .field("size", &size_of::<T>())
            .field("null", &self.is_null())
            .finish_non_exhaustive()
    }
}
