//! [`StaticPool`]: a pool in a static, made at its first use.

use super::PerCpuPool;
use crate::once::OncePtr;
use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// A [`PerCpuPool`] for a static: made by whoever uses it first, without a lock.
///
/// Threads that come at the same time may each make one; the first one stays, the others are
/// dropped. So a child of `fork` never waits for a thread that is not there. An object of a static
/// pool has a guard without a lifetime to care for: `Pooled<'static, T>`.
///
/// ```
/// use corelocal::pool::{PerCpuPool, Pooled, StaticPool};
///
/// static BUFFERS: StaticPool<Vec<u8>> = StaticPool::new(|| {
///     PerCpuPool::builder(Vec::new).reset(Vec::clear).build().expect("memory for the lanes")
/// });
///
/// let buffer: Pooled<'static, Vec<u8>> = BUFFERS.get();
/// std::thread::spawn(move || drop(buffer)).join().unwrap();
/// assert_eq!(BUFFERS.objects(), 1);
/// ```
pub struct StaticPool<T> {
    pool: OncePtr<PerCpuPool<T>>,
    make: fn() -> PerCpuPool<T>,
    _owned: PhantomData<PerCpuPool<T>>,
}

impl<T> StaticPool<T> {
    /// A pool that `make` makes at the first use.
    ///
    /// ```
    /// use corelocal::pool::{PerCpuPool, StaticPool};
    ///
    /// static BUFFERS: StaticPool<Vec<u8>> = StaticPool::new(|| PerCpuPool::new(|| Vec::with_capacity(4096)));
    /// assert!(BUFFERS.get().capacity() >= 4096); // the first use makes the pool
    /// ```
    pub const fn new(make: fn() -> PerCpuPool<T>) -> Self {
        Self { pool: OncePtr::new(), make, _owned: PhantomData }
    }

    #[cold]
    fn first(&self) -> NonNull<PerCpuPool<T>> {
        let made = NonNull::from(Box::leak(Box::new((self.make)())));
        match self.pool.publish(made) {
            Ok(()) => made,
            Err(first) => {
                // SAFETY:
                // - made by a box above, and not published.
                drop(unsafe { Box::from_raw(made.as_ptr()) });
                first
            }
        }
    }
}

/// # Panics
///
/// The first use panics if the function that makes the pool does.
impl<T> Deref for StaticPool<T> {
    type Target = PerCpuPool<T>;

    #[inline]
    fn deref(&self) -> &PerCpuPool<T> {
        let pool = match self.pool.get() {
            Some(pool) => pool,
            None => self.first(),
        };
        // SAFETY:
        // - published once, and ours until `drop`.
        unsafe { pool.as_ref() }
    }
}

impl<T> Drop for StaticPool<T> {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.get() {
            // SAFETY:
            // - made by a box, published, and nobody borrows it any more.
            drop(unsafe { Box::from_raw(pool.as_ptr()) });
        }
    }
}

impl<T> fmt::Debug for StaticPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticPool").field("made", &self.pool.get().is_some()).finish()
    }
}
