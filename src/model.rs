//! What the models of `loom-tests` reach of the inside. Not there but under `--cfg corelocal_loom`.

pub use crate::counter::model::Batches;
pub use crate::percpu::model::Groups;
#[cfg(feature = "pool")]
pub use crate::pool::model::{Head, Lane, Place, PoolLists};
pub use crate::ring::model::{RingLane, RingLanes};
pub use crate::rwlock::model::MachineGate;

pub use crate::refcount::model::{RefCount, Who};

use crate::once::OncePtr;
use crate::sys::memory;
use core::ptr::NonNull;

/// Uses the bytes of `copy` as their only owner: the model fails where the last use did not
/// happen before, or where the memory is not mapped any more.
#[track_caller]
pub fn touch<T>(copy: &T) {
    memory::touch(core::ptr::from_ref(copy).addr(), size_of::<T>().max(1));
}

/// Ends a run.
///
/// # Panics
///
/// If something is still mapped, pinned or deferred.
#[track_caller]
pub fn finish() {
    #[cfg(feature = "epoch")]
    crate::reclaim::finish();
    memory::finish();
}

/// [`OncePtr`], which is not public.
#[derive(Debug)]
pub struct Once<T>(OncePtr<T>);

impl<T> Once<T> {
    /// Nothing published yet.
    #[allow(clippy::new_without_default, reason = "as `OncePtr`")]
    pub fn new() -> Self {
        Self(OncePtr::new())
    }

    /// What was published.
    pub fn get(&self) -> Option<NonNull<T>> {
        self.0.get()
    }

    /// Publishes `made`, unless somebody was first.
    ///
    /// # Errors
    ///
    /// What was published first.
    pub fn publish(&self, made: NonNull<T>) -> Result<(), NonNull<T>> {
        self.0.publish(made)
    }
}
