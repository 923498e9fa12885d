//! [`StaticRing`]: rings in a static, made at their first use.

use super::PerCpuRing;
use crate::once::OncePtr;
use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// A [`PerCpuRing`] for a static: made by whoever uses it first, without a lock, and never given back.
///
/// Threads that come at the same time may each make one; the first one stays, the others are
/// dropped, and nothing was written to them. So a child of `fork` never waits for a thread that is
/// not there.
///
/// ```
/// use corelocal::ring::StaticRing;
///
/// static TRACE: StaticRing = StaticRing::new(1 << 16);
/// TRACE.write(b"begun").unwrap();
/// assert_eq!(TRACE.reader().unwrap().drain().count(), 1);
/// ```
///
/// # Panics
///
/// The first use panics where the capacity is wrong, or the system refuses memory. It allocates, so
/// make it before a signal handler does.
pub struct StaticRing {
    ring: OncePtr<PerCpuRing>,
    capacity: usize,
    _owned: PhantomData<PerCpuRing>,
}

impl StaticRing {
    /// Rings of `capacity` bytes a lane; see [`PerCpuRing::new`].
    ///
    /// ```
    /// use corelocal::ring::StaticRing;
    ///
    /// static TRACE: StaticRing = StaticRing::new(1 << 12);
    /// std::thread::spawn(|| TRACE.write(b"event").map(drop)).join().unwrap()?;
    /// assert_eq!(TRACE.stats().map(|(_, lane)| lane.written).sum::<u64>(), 1);
    /// # Ok::<(), corelocal::ring::WriteError>(())
    /// ```
    pub const fn new(capacity: usize) -> Self {
        Self { ring: OncePtr::new(), capacity, _owned: PhantomData }
    }

    #[cold]
    fn first(&self) -> NonNull<PerCpuRing> {
        let made = NonNull::from(Box::leak(Box::new(PerCpuRing::new(self.capacity))));
        match self.ring.publish(made) {
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

impl Deref for StaticRing {
    type Target = PerCpuRing;

    #[inline]
    fn deref(&self) -> &PerCpuRing {
        let ring = match self.ring.get() {
            Some(ring) => ring,
            None => self.first(),
        };
        // SAFETY:
        // - published once, and ours until `drop`.
        unsafe { ring.as_ref() }
    }
}

impl Drop for StaticRing {
    fn drop(&mut self) {
        if let Some(ring) = self.ring.get() {
            // SAFETY:
            // - made by a box, published, and nobody borrows it any more.
            drop(unsafe { Box::from_raw(ring.as_ptr()) });
        }
    }
}

impl fmt::Debug for StaticRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticRing").field("made", &self.ring.get().is_some()).finish()
    }
}
