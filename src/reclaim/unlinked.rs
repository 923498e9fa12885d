//! [`Unlinked`]: an object out of its slot, which readers may still hold.

use super::error::Pinned;
use super::grace::{defer, wait_for_readers};
use super::{Guard, check, pin};
use crate::percpu::{PerCpu, PerCpuRef};
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

/// A per-CPU object that is out of its slot. Readers that loaded it before may still use it.
///
/// It is not an owner yet: it can be read like they read it, and handed on to what shall be done
/// with it when they are gone. If it is dropped, that is [`retire`](Self::retire).
///
/// Each way waits for the guards that are pinned when it is called. What is to follow lies in a bag of
/// the calling thread until that has 64 of them, ends, or flushes ([`Guard::flush`](super::Guard)); then
/// whichever thread pins, and finds that these guards are gone, does it. Callbacks run pinned: what
/// they do should be short, and must not wait for readers. One that panics is stopped there;
/// the panic hook has told of it.
///
/// `Send` needs `T: Sync` too: two threads can read it, its new holder and a reader.
///
/// ```
/// use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim::pin};
///
/// let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
/// let guard = pin();
/// slot.load(&guard).unwrap().add(5);
/// let old = slot.swap(Some(PerCpu::zeroed()), &guard).expect("there was one");
/// println!("about {} so far", old.as_ref().sum()); // readers may still add to it
/// old.retire(&guard);
/// assert_eq!(slot.load(&guard).unwrap().sum(), 0);
/// ```
pub struct Unlinked<T: Send + 'static> {
    object: ManuallyDrop<PerCpu<T>>,
    _shared: PhantomData<PerCpuRef<'static, T>>,
}

impl<T: Send + 'static> Unlinked<T> {
    /// What was in a slot, and is not any more.
    pub(super) fn new(object: PerCpu<T>) -> Self {
        Self { object: ManuallyDrop::new(object), _shared: PhantomData }
    }

    /// A handle to read it by, as readers do.
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, reclaim::pin};
    ///
    /// let slot = AtomicPerCpu::new(PerCpu::new(|_| String::from("old")));
    /// let old = slot.swap(None, &pin()).unwrap();
    /// assert_eq!(old.as_ref().spill(), "old"); // shared with readers, so only to be read
    /// ```
    pub fn as_ref(&self) -> PerCpuRef<'_, T> {
        self.object.as_ref()
    }

    /// The object itself. Its readers must be waited for before it is used as an owner may.
    fn into_object(self) -> ManuallyDrop<PerCpu<T>> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used any more, nor dropped.
        ManuallyDrop::new(unsafe { ManuallyDrop::take(&mut this.object) })
    }

    /// Drops the object when every guard that is pinned now is gone.
    ///
    /// Does not allocate, but for each 64th deferred function of a thread.
    ///
    /// # Panics
    ///
    /// If the guard keeps nothing alive, as in [`AtomicPerCpu::load`](super::AtomicPerCpu::load). (It
    /// is retired nevertheless.)
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, reclaim::pin};
    ///
    /// let slot = AtomicPerCpu::new(PerCpu::new(|lane| vec![lane]));
    /// {
    ///     let guard = pin();
    ///     let old = slot.swap(Some(PerCpu::new(|_| Vec::new())), &guard).unwrap();
    ///     old.retire(&guard); // freed later, by whoever finds that the readers are gone
    ///     guard.flush();      // soon, if this thread retires little
    /// }
    /// assert!(slot.load(&pin()).unwrap().spill().is_empty());
    /// ```
    #[track_caller]
    pub fn retire(self, guard: &Guard) {
        self.retire_with(guard, drop);
    }

    /// Hands the object to `then` when every guard that is pinned now is gone: it is nobody else's.
    ///
    /// For what is to be known or kept of it: counts that were made until the very end, memory that
    /// is used again.
    ///
    /// # Panics
    ///
    /// As [`retire`](Self::retire).
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// static TOTAL: AtomicU64 = AtomicU64::new(0);
    ///
    /// let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
    /// let guard = reclaim::pin();
    /// let hits = slot.load(&guard).unwrap();
    /// slot.swap(None, &guard).unwrap().retire_with(&guard, |object| {
    ///     TOTAL.fetch_add(object.sum(), Ordering::Relaxed); // exact: nobody adds any more
    /// });
    /// hits.add(3); // a reader that came before
    /// assert_eq!(TOTAL.load(Ordering::Relaxed), 0);
    /// ```
    #[track_caller]
    pub fn retire_with(self, guard: &Guard, then: impl FnOnce(PerCpu<T>) + Send + 'static) {
        check(guard);
        let object = self.into_object();
        // Readers of the object were pinned before it left the slot, so before now.
        defer(guard, move || then(ManuallyDrop::into_inner(object)));
    }

    /// Two grace periods, with a callback between: first the readers that are pinned now; then
    /// `unregister`, which may still read and update the object; then the readers that are pinned
    /// at its end; then the object is dropped.
    ///
    /// For objects that lie in more than one list. A walker that came before the object left its slot
    /// may put it into a second list (the kernel: a group's run queue is put back on a CPU's leaf
    /// list by who was walking the tree). While such walkers are about, taking it off
    /// that list settles nothing. After the first period nobody can put it there, and `unregister`
    /// takes it off; others may have found it there, and are what the second period is for. (Linux:
    /// `sched_release_group`, `unregister_fair_sched_group` and `free_fair_sched_group` in
    /// `kernel/sched`.) [`docs::reclaim`](crate::docs::reclaim) has an example.
    ///
    /// If `unregister` panics, the second list may still lead to the object: it is leaked, not freed.
    ///
    /// # Panics
    ///
    /// As [`retire`](Self::retire).
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim::{pin, wait_for_readers}};
    /// use std::sync::Mutex;
    ///
    /// // A second list that leads to objects, and to which walkers may add them.
    /// static ACTIVE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    ///
    /// ACTIVE.lock().unwrap().push(7);
    /// let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
    /// let guard = pin();
    /// slot.swap(None, &guard).unwrap().retire_in_stages(&guard, |object| {
    ///     // No walker is left that could add it again; some may still look at it.
    ///     ACTIVE.lock().unwrap().retain(|id| *id != 7);
    ///     assert_eq!(object.sum(), 0);
    /// });
    /// assert_eq!(ACTIVE.lock().unwrap().len(), 1, "not before this thread's guard is gone");
    /// # drop(guard);
    /// # wait_for_readers().unwrap();
    /// ```
    #[track_caller]
    pub fn retire_in_stages(
        self,
        guard: &Guard,
        unregister: impl FnOnce(PerCpuRef<'_, T>) + Send + 'static,
    ) where
        T: Sync,
    {
        check(guard);
        let object = self.into_object();
        defer(guard, move || {
            // Not dropped here, whatever happens.
            unregister(object.as_ref());
            defer(&pin(), move || drop(ManuallyDrop::into_inner(object)));
        });
    }

    /// Waits for every guard that is pinned now; then the object is the caller's.
    ///
    /// As [`wait_for_readers`], which says how long that takes.
    ///
    /// # Errors
    ///
    /// [`Pinned`], with the object in it: the calling thread holds a guard itself.
    ///
    /// ```
    /// use corelocal::{AtomicPerCpu, PerCpu, reclaim::pin};
    /// let slot = AtomicPerCpu::new(PerCpu::new(|_| 1));
    /// let old = slot.swap(None, &pin()).unwrap();
    /// let mut object = old.wait().expect("this thread holds no guard");
    /// object.iter_mut().for_each(|(_, number)| *number += 1);
    /// slot.swap(Some(object), &pin()); // used again
    /// ```
    pub fn wait(self) -> Result<PerCpu<T>, Pinned<Self>> {
        match wait_for_readers() {
            // Readers of the object were pinned before it left the slot, so before now.
            Ok(()) => Ok(ManuallyDrop::into_inner(self.into_object())),
            Err(_) => Err(Pinned { given_back: self }),
        }
    }
}

impl<T: Send + 'static> Drop for Unlinked<T> {
    fn drop(&mut self) {
        // SAFETY: `self.object` is not used any more.
        let object = unsafe { ManuallyDrop::take(&mut self.object) };
        // A pin of our own: a guard of the caller's need not be there any more.
        Self::new(object).retire(&pin());
    }
}

impl<T: Send + 'static> fmt::Debug for Unlinked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unlinked").field(&*self.object).finish()
    }
}
