//! [`OncePtr`]: a pointer that is published once, by whoever comes first, and then only read.
//!
//! Not a `Once`: nobody waits. Threads that come at the same time each make a value, one is
//! published, and the others undo theirs. So a signal handler, or a child of `fork` whose parent's
//! other threads are gone, never meets a value that is half made.

use crate::sync::{AtomicPtr, Ordering};
use core::ptr::{self, NonNull};

/// A pointer that is null until it is published, and never changes afterwards.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct OncePtr<T>(AtomicPtr<T>);

impl<T> OncePtr<T> {
    crate::sync::const_unless_loom! {
        /// Nothing published yet.
        pub(crate) const fn new() -> Self {
            Self(AtomicPtr::new(ptr::null_mut()))
        }
    }

    /// What was published; what it points to is as its maker left it.
    #[inline]
    pub(crate) fn get(&self) -> Option<NonNull<T>> {
        // Acquire [E7]: pairs with the Release in `publish`.
        NonNull::new(self.0.load(Ordering::Acquire))
    }

    /// Publishes `made`, unless somebody was first.
    ///
    /// # Errors
    ///
    /// What was published first. The caller still has `made`, and undoes it.
    pub(crate) fn publish(&self, made: NonNull<T>) -> Result<(), NonNull<T>> {
        let won = self.0.compare_exchange(
            ptr::null_mut(),
            made.as_ptr(),
            // Release [E7]: pairs with the Acquire in `get`, and with the one in the next line.
            Ordering::Release,
            // Acquire [E7]: the first one's value is used.
            Ordering::Acquire,
        );
        match won.map_err(NonNull::new) {
            // The exchange fails only where it does not find null.
            Ok(_) | Err(None) => Ok(()),
            Err(Some(first)) => Err(first),
        }
    }
}

#[cfg(all(test, not(corelocal_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_stays() {
        let (mut a, mut b) = (1, 2);
        let once = OncePtr::new();
        assert_eq!(once.get(), None);
        let (first, second) = (NonNull::from(&mut a), NonNull::from(&mut b));
        assert_eq!(once.publish(first), Ok(()));
        assert_eq!(once.publish(second), Err(first));
        assert_eq!(once.get(), Some(first));
    }
}
