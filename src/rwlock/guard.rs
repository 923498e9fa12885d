//! [`ReadGuard`] and [`WriteGuard`]: the one place where the value is reached.
#![allow(unsafe_code, reason = "hands out references into an `UnsafeCell`")]

use super::PerCpuRwLock;
use super::gate::Gate;
use super::lanes::Lanes;
use crate::sys::rseq::NoFence;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::sync::{LockResult, PoisonError};
use std::thread;

// SAFETY:
// - the owner of the value: sending it sends the value. What is in the gate may be sent.
unsafe impl<T: ?Sized + Send> Send for PerCpuRwLock<T> {}
// SAFETY:
// - shared, it gives out `&T` to many threads at once (`T: Sync`), and `&mut T` to any one of them,
//   which may take the value out or drop it (`T: Send`).
unsafe impl<T: ?Sized + Send + Sync> Sync for PerCpuRwLock<T> {}

/// A value in the hands of a reader of a [`PerCpuRwLock`]. Readers after it that a writer does not
/// hold up, and the writer, come in when it is dropped.
///
/// It may go to another thread and be dropped there, on whichever CPU: entries and exits are summed
/// over all lanes, so it does not matter where either was counted. Kept for ever
/// ([`mem::forget`](core::mem::forget)) it keeps writers out for ever; nothing else breaks.
///
/// ```
/// use corelocal::rwlock::{PerCpuRwLock, ReadGuard};
///
/// struct Config { lock: PerCpuRwLock<Vec<String>> }
/// impl Config {
///     /// Borrows: nothing is cloned, and writers wait as long as the caller keeps it.
///     fn names(&self) -> ReadGuard<'_, Vec<String>> {
///         self.lock.read().unwrap()
///     }
/// }
/// let config = Config { lock: PerCpuRwLock::new(vec!["a".into()]) };
/// assert_eq!(config.names().len(), 1);
/// ```
#[must_use = "what is not kept is left at once"]
pub struct ReadGuard<'a, T: ?Sized> {
    /// Not a reference: one that is passed to a function promises to hold until that returns, and a
    /// writer comes as soon as the guard is dropped in there.
    value: NonNull<T>,
    gate: &'a Gate<Lanes>,
    _borrows: PhantomData<&'a T>,
}

/// A value in the hands of the one writer of a [`PerCpuRwLock`]. Readers and writers come in when it
/// is dropped.
///
/// It may go to another thread. A panic while it is alive (one that began while it was) poisons the
/// lock.
///
/// ```
/// use corelocal::rwlock::{PerCpuRwLock, WriteGuard};
///
/// /// Takes the guard, so that the lock is open again when this returns.
/// fn replace(mut table: WriteGuard<'_, Vec<u32>>, new: &[u32]) {
///     table.clear();
///     table.extend_from_slice(new);
/// }
/// let lock = PerCpuRwLock::new(vec![1]);
/// replace(lock.write().unwrap(), &[2, 3]);
/// assert_eq!(*lock.read().unwrap(), [2, 3]);
/// ```
#[must_use = "what is not kept is left at once"]
pub struct WriteGuard<'a, T: ?Sized> {
    value: NonNull<T>,
    gate: &'a Gate<Lanes>,
    /// The thread was panicking already when it got the guard.
    panicking: bool,
    _borrows: PhantomData<&'a mut T>,
}

// SAFETY:
// - it stands for a `&T`; leaving only counts, on whatever thread.
unsafe impl<T: ?Sized + Sync> Send for ReadGuard<'_, T> {}
// SAFETY:
// - as above.
unsafe impl<T: ?Sized + Sync> Sync for ReadGuard<'_, T> {}
// SAFETY:
// - it stands for a `&mut T`; any thread may open the gate again.
unsafe impl<T: ?Sized + Send> Send for WriteGuard<'_, T> {}
// SAFETY:
// - shared, it stands for a `&T`.
unsafe impl<T: ?Sized + Sync> Sync for WriteGuard<'_, T> {}

/// Ok, unless the lock is poisoned.
#[inline(always)]
fn result<G>(guard: G, poisoned: bool) -> LockResult<G> {
    if poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
}

impl<'a, T: ?Sized> ReadGuard<'a, T> {
    /// Waits to be let in.
    #[inline(always)]
    pub(super) fn enter(lock: &'a PerCpuRwLock<T>) -> LockResult<Self> {
        let poisoned = lock.gate.enter();
        result(Self::of(lock), poisoned)
    }

    /// Is let in at once, or not.
    #[inline(always)]
    pub(super) fn try_enter(lock: &'a PerCpuRwLock<T>) -> Option<LockResult<Self>> {
        lock.gate.try_enter().map(|poisoned| result(Self::of(lock), poisoned))
    }

    /// The guard of a reader that the gate has just let in.
    #[inline(always)]
    fn of(lock: &'a PerCpuRwLock<T>) -> Self {
        // SAFETY:
        // - the address of a field is not null.
        let value = unsafe { NonNull::new_unchecked(lock.value.get()) };
        Self { value, gate: &lock.gate, _borrows: PhantomData }
    }

    /// A guard of a part of the value.
    ///
    /// An associated function, so that it does not hide a method of the value's. The lock is left when
    /// the new guard is dropped.
    ///
    /// ```
    /// use corelocal::rwlock::{PerCpuRwLock, ReadGuard};
    /// let lock = PerCpuRwLock::new((1, String::from("one")));
    /// let name = ReadGuard::map(lock.read().unwrap(), |pair| pair.1.as_str());
    /// assert_eq!(&*name, "one");
    /// ```
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> ReadGuard<'a, U> {
        let value = NonNull::from(part(&this));
        let gate = this.gate;
        // The new guard leaves.
        core::mem::forget(this);
        ReadGuard { value, gate, _borrows: PhantomData }
    }
}

impl<'a, T: ?Sized> WriteGuard<'a, T> {
    /// Waits until it is alone.
    pub(super) fn close(lock: &'a PerCpuRwLock<T>) -> Result<LockResult<Self>, NoFence> {
        lock.gate.close().map(|poisoned| result(Self::of(lock), poisoned))
    }

    /// Is alone at once, or not.
    pub(super) fn try_close(
        lock: &'a PerCpuRwLock<T>,
    ) -> Result<Option<LockResult<Self>>, NoFence> {
        let closed = lock.gate.try_close()?;
        Ok(closed.map(|poisoned| result(Self::of(lock), poisoned)))
    }

    /// The guard of a writer that the gate has just let in.
    fn of(lock: &'a PerCpuRwLock<T>) -> Self {
        // SAFETY:
        // - the address of a field is not null.
        let value = unsafe { NonNull::new_unchecked(lock.value.get()) };
        Self { value, gate: &lock.gate, panicking: thread::panicking(), _borrows: PhantomData }
    }

    /// A guard of a part of the value; see [`ReadGuard::map`].
    ///
    /// ```
    /// use corelocal::rwlock::{PerCpuRwLock, WriteGuard};
    /// let lock = PerCpuRwLock::new([0; 3]);
    /// *WriteGuard::map(lock.write().unwrap(), |array| &mut array[1]) = 5;
    /// assert_eq!(*lock.read().unwrap(), [0, 5, 0]);
    /// ```
    pub fn map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> WriteGuard<'a, U> {
        let value = NonNull::from(part(&mut this));
        let (gate, panicking) = (this.gate, this.panicking);
        // The new guard leaves.
        core::mem::forget(this);
        WriteGuard { value, gate, panicking, _borrows: PhantomData }
    }
}

impl<T: ?Sized> Deref for ReadGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY:
        // - the value lives as long as the lock is borrowed;
        // - the gate has let this reader in, and lets no writer in before the guard is dropped.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> Deref for WriteGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY:
        // - the value lives as long as the lock is borrowed;
        // - the gate has let this writer in, and nobody else before the guard is dropped.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY:
        // - as in `deref`, and the guard is borrowed as a whole.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized> Drop for ReadGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.gate.leave();
    }
}

impl<T: ?Sized> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        self.gate.open(!self.panicking && thread::panicking());
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
