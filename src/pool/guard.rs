//! [`Pooled`] and [`OwnedPooled`]: an object in use, which comes back by itself.

use super::PerCpuPool;
use super::node::Node;
use alloc::sync::Arc;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// What both guards are.
macro_rules! guard {
    ($name:ident [$($life:tt)*]) => {
        impl<T> $name<$($life)* T> {
            /// Takes the object out of the pool for good: it does not count any more, and is not
            /// reset.
            ///
            /// ```
            #[doc = concat!("use corelocal::pool::{PerCpuPool, ", stringify!($name), "};")]
            /// # use std::sync::Arc;
            /// let pool = Arc::new(PerCpuPool::new(|| 7));
            #[doc = detach_example!($name)]
            /// assert_eq!((value, pool.objects()), (7, 0));
            /// ```
            pub fn detach(this: Self) -> T {
                let this = ManuallyDrop::new(this);
                // SAFETY:
                // - not used again: `this` is not dropped.
                let pool = unsafe { core::ptr::read(&raw const this.pool) };
                // SAFETY:
                // - the guard owned the node, and is gone.
                let (value, _credit) = unsafe { pool.open(this.node) };
                value
            }
        }

        impl<T> Deref for $name<$($life)* T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY:
                // - the guard owns the node, and is shared as long as the answer is.
                unsafe { &self.node.as_ref().value }
            }
        }

        impl<T> DerefMut for $name<$($life)* T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY:
                // - the guard owns the node, and is borrowed as long as the answer is.
                unsafe { &mut self.node.as_mut().value }
            }
        }

        impl<T> AsRef<T> for $name<$($life)* T> {
            fn as_ref(&self) -> &T {
                self
            }
        }

        impl<T> AsMut<T> for $name<$($life)* T> {
            fn as_mut(&mut self) -> &mut T {
                self
            }
        }

        impl<T> Drop for $name<$($life)* T> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY:
                // - the guard owns the node, of an object of the pool, and is gone.
                unsafe { self.pool.give_back(self.node) };
            }
        }

        impl<T: fmt::Debug> fmt::Debug for $name<$($life)* T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        // SAFETY: the guard is the one owner of its object (`T: Send`), and gives it back to a pool
        // that any thread may use then.
        unsafe impl<T: Send> Send for $name<$($life)* T> {}
        // SAFETY: shared, a guard gives out `&T` only.
        unsafe impl<T: Send + Sync> Sync for $name<$($life)* T> {}
    };
}

macro_rules! detach_example {
    (Pooled) => {
        "let value = Pooled::detach(pool.get());"
    };
    (OwnedPooled) => {
        "let value = OwnedPooled::detach(pool.get_owned());"
    };
}

/// An object of a [`PerCpuPool`] in use. It goes back when this is dropped, to the CPU that drops it.
///
/// # Panics
///
/// Dropping it panics if the pool's reset hook or its `keep_if` does; the object is dropped then.
/// If the guard is dropped because of another panic, that ends the process, as a second panic
/// always does. A guard that is forgotten takes its object with it, which counts for ever.
///
/// ```
/// use corelocal::pool::{PerCpuPool, Pooled};
///
/// /// A message whose bytes go back to the pool with it.
/// struct Message<'a> { bytes: Pooled<'a, Vec<u8>> }
///
/// let buffers = PerCpuPool::new(Vec::new);
/// let mut message = Message { bytes: buffers.get() };
/// message.bytes.push(7);
/// assert_eq!((message.bytes.len(), buffers.objects()), (1, 1));
/// ```
#[must_use = "the object goes back at once"]
pub struct Pooled<'a, T> {
    node: NonNull<Node<T>>,
    pool: &'a PerCpuPool<T>,
}

impl<'a, T> Pooled<'a, T> {
    /// # Safety
    ///
    /// The caller owns the node, of an object of `pool`, and gives it up.
    #[inline(always)]
    pub(super) unsafe fn new(pool: &'a PerCpuPool<T>, node: NonNull<Node<T>>) -> Self {
        Self { node, pool }
    }
}

guard!(Pooled['_,]);

/// As [`Pooled`], with a share of the pool: nothing is borrowed. Made by
/// [`PerCpuPool::get_owned`], which counts the share up, and this counts it down: two locked
/// instructions on a word that all threads use.
///
/// ```
/// use corelocal::pool::{OwnedPooled, PerCpuPool};
/// use std::sync::{Arc, mpsc};
///
/// let buffers = Arc::new(PerCpuPool::new(Vec::<u8>::new));
/// let (send, receive) = mpsc::channel::<OwnedPooled<Vec<u8>>>();
/// let writer = std::thread::spawn(move || receive.iter().map(|buffer| buffer.len()).sum::<usize>());
/// let mut buffer = buffers.get_owned();
/// buffer.extend_from_slice(b"record");
/// send.send(buffer).unwrap(); // goes back on the writer's CPU
/// drop(send);
/// assert_eq!(writer.join().unwrap(), 6);
/// ```
#[must_use = "the object goes back at once"]
pub struct OwnedPooled<T> {
    node: NonNull<Node<T>>,
    pool: Arc<PerCpuPool<T>>,
}

impl<T> OwnedPooled<T> {
    /// The same object, whose pool is kept alive.
    pub(super) fn new(pool: &Arc<PerCpuPool<T>>, object: Pooled<'_, T>) -> Self {
        let pool = Arc::clone(pool);
        Self { node: ManuallyDrop::new(object).node, pool }
    }
}

guard!(OwnedPooled[]);
