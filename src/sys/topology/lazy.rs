//! A value that is made at the first question, without a lock.
#![allow(unsafe_code, reason = "a shared pointer to a value that is published once")]

use crate::once::OncePtr;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A value that is made once. Threads that race make it twice, and the loser
/// throws its own away: so a forked child never meets a lock that a vanished
/// thread holds, and what it finds is whole or absent.
pub(super) struct Lazy<T> {
    /// A `Box` that is never replaced.
    value: OncePtr<T>,
    _owned: PhantomData<Box<T>>,
}

impl<T> Lazy<T> {
    crate::sync::const_unless_loom! {
        pub(super) const fn new() -> Self {
            Self { value: OncePtr::new(), _owned: PhantomData }
        }
    }

    /// The value, if it was made already.
    pub(super) fn get(&self) -> Option<&T> {
        // SAFETY:
        // - what is published came from a `Box` in `get_or_make`;
        // - it is freed by `drop` only, which needs `&mut self`;
        // - nobody writes through it after it was published.
        self.value.get().map(|value| unsafe { value.as_ref() })
    }

    /// The value, made by `make` if there is none yet.
    pub(super) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let mine = NonNull::from(Box::leak(Box::new(make())));
        let value = match self.value.publish(mine) {
            Ok(()) => mine,
            Err(theirs) => {
                // SAFETY:
                // - `mine` came from a `Box` above and was not published.
                drop(unsafe { Box::from_raw(mine.as_ptr()) });
                theirs
            }
        };
        // SAFETY:
        // - as in `get`; `value` is the published pointer.
        unsafe { value.as_ref() }
    }
}

impl<T> Drop for Lazy<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.get() {
            // SAFETY:
            // - it came from a `Box`, and nobody else can reach it any more.
            drop(unsafe { Box::from_raw(value.as_ptr()) });
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
                        let make = move || {
                            // Nobody publishes before all three are here.
                            barrier.wait();
                            (number, token)
                        };
                        scope.spawn(|| lazy.get_or_make(make).0)
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
