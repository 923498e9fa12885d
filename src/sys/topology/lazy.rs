//! A value that is made at the first question, without a lock.
#![allow(unsafe_code, reason = "a shared pointer to a value that is published once")]

use crate::sync::Ordering;
use crate::sync::plain::AtomicPtr;
use core::marker::PhantomData;
use core::ptr;

/// A value that is made once. Threads that race make it twice, and the loser
/// throws its own away: so a forked child never meets a lock that a vanished
/// thread holds, and what it finds is whole or absent.
pub(super) struct Lazy<T> {
    /// Null, or a `Box` that is never replaced.
    value: AtomicPtr<T>,
    _owned: PhantomData<Box<T>>,
}

impl<T> Lazy<T> {
    pub(super) const fn new() -> Self {
        Self { value: AtomicPtr::new(ptr::null_mut()), _owned: PhantomData }
    }

    /// The value, if it was made already.
    pub(super) fn get(&self) -> Option<&T> {
        // Acquire [E10]: pairs with the Release in `get_or_make`; the value is complete.
        let value = self.value.load(Ordering::Acquire);
        // SAFETY:
        // - a pointer that is not null came from `Box::into_raw` in `get_or_make`;
        // - it is freed by `drop` only, which needs `&mut self`;
        // - nobody writes through it after it was published.
        unsafe { value.as_ref() }
    }

    /// The value, made by `make` if there is none yet.
    pub(super) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let mine = Box::into_raw(Box::new(make()));
        // Release [E10]: pairs with the Acquire in `get`. Acquire on failure: as in `get`.
        let published = self.value.compare_exchange(
            ptr::null_mut(),
            mine,
            Ordering::Release,
            Ordering::Acquire,
        );
        let value = match published {
            Ok(_) => mine,
            Err(theirs) => {
                // SAFETY:
                // - `mine` came from `Box::into_raw` above and was not published.
                drop(unsafe { Box::from_raw(mine) });
                theirs
            }
        };
        // SAFETY:
        // - as in `get`; `value` is the published pointer.
        unsafe { &*value }
    }
}

impl<T> Drop for Lazy<T> {
    fn drop(&mut self) {
        // Relaxed: `&mut self` says that every other use happened before.
        let value = self.value.load(Ordering::Relaxed);
        if !value.is_null() {
            // SAFETY:
            // - it came from `Box::into_raw`, and nobody else can reach it any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::Barrier;

    #[test]
    fn racing_threads_agree_and_the_losers_value_is_freed() {
        for _ in 0..200 {
            let (lazy, token, barrier) = (Lazy::new(), Arc::new(()), Barrier::new(3));
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..3)
                    .map(|number| {
                        let (lazy, token, barrier) = (&lazy, token.clone(), &barrier);
                        scope.spawn(move || {
                            barrier.wait();
                            lazy.get_or_make(|| (number, token)).0
                        })
                    })
                    .collect();
                let mut seen = threads.into_iter().map(|thread| thread.join().unwrap());
                let first = seen.next().unwrap();
                assert!(seen.all(|other| other == first));
            });
            assert_eq!(Arc::strong_count(&token), 2, "the loser's value was kept");
            drop(lazy);
            assert_eq!(Arc::strong_count(&token), 1, "the winner's value was kept");
        }
    }
}
