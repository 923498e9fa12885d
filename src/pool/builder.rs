//! [`PoolBuilder`]: a pool's bounds and hooks.

use super::lanes::{Lane, Lanes};
use super::objects::Kept;
use super::percpu_pool::{Apart, Hooks};
use super::shared::Shared;
use super::{BuildError, PerCpuPool};
use crate::percpu::PerCpu;
use crate::sys::rseq::can_fence;
use crate::sys::{Backend, backend};
use alloc::boxed::Box;
use core::fmt;

/// Bounds and hooks of a [`PerCpuPool`] to be. Made by [`PerCpuPool::builder`].
///
/// ```
/// use corelocal::PerCpuPool;
///
/// let pool = PerCpuPool::builder(|| Vec::<u8>::with_capacity(4096))
///     .lane_capacity(16) // idle objects a CPU: two batches of 8
///     .shared_batches(4) // and 4 batches for all
///     .capacity(100) // at most 100 objects in all, in use ones too
///     .reset(Vec::clear)
///     .keep_if(|buffer| buffer.capacity() <= 64 << 10)
///     .build()?;
/// pool.get().extend_from_slice(b"hello");
/// assert!(pool.get().is_empty(), "reset when it came back");
/// # Ok::<(), corelocal::pool::BuildError>(())
/// ```
#[must_use]
pub struct PoolBuilder<T> {
    hooks: Hooks<T>,
    in_lane: usize,
    batches: usize,
    capacity: usize,
    prefill: usize,
}

impl<T> PoolBuilder<T> {
    /// The longest lane, in objects.
    pub const MOST_IN_A_LANE: usize = 1 << 20;

    pub(super) fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let hooks = Hooks { make: Box::new(make), reset: None, keep_if: None };
        Self { hooks, in_lane: 64, batches: 64, capacity: usize::MAX, prefill: 0 }
    }

    /// The most idle objects that a CPU keeps: an even number, from 2 on; 64 without this. Half of
    /// it is a **batch**, in which objects go to and from the shared queue.
    ///
    /// (On the backends without sections: the most that a thread keeps.)
    pub fn lane_capacity(mut self, objects: usize) -> Self {
        self.in_lane = objects;
        self
    }

    /// How many batches the shared queue has room for; 64 without this, and it may be 0.
    ///
    /// A search of an empty queue, and of a full one, looks at each place.
    pub fn shared_batches(mut self, batches: usize) -> Self {
        self.batches = batches;
        self
    }

    /// The most objects that the pool keeps in all, those in use included; no bound without this.
    ///
    /// At the bound [`try_get`](PerCpuPool::try_get) makes no object, and the ways to get one that
    /// always succeed make one that the pool does not keep: it is dropped when it comes back.
    pub fn capacity(mut self, objects: usize) -> Self {
        self.capacity = objects;
        self
    }

    /// Makes so many objects at once, into the shared queue.
    pub fn prefill(mut self, objects: usize) -> Self {
        self.prefill = objects;
        self
    }

    /// Called with each object that comes back by itself. If it panics, the object is dropped, and
    /// the panic goes to whoever dropped the guard.
    pub fn reset(mut self, hook: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        self.hooks.reset = Some(Box::new(hook));
        self
    }

    /// Called after the reset hook: `false` drops the object instead of keeping it. A buffer that
    /// grew too large need not stay.
    pub fn keep_if(mut self, hook: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.hooks.keep_if = Some(Box::new(hook));
        self
    }

    /// The pool.
    ///
    /// # Errors
    ///
    /// [`BuildError`]: bounds that cannot be, or no memory.
    ///
    /// # Panics
    ///
    /// If the constructor does, for [`prefill`](Self::prefill).
    pub fn build(self) -> Result<PerCpuPool<T>, BuildError> {
        let asked = self.in_lane;
        if asked < 2 || asked % 2 != 0 || asked > Self::MOST_IN_A_LANE {
            return Err(BuildError::LaneCapacity { asked });
        }
        let batch = asked / 2;
        let most = self.capacity.min(batch.saturating_mul(self.batches));
        if self.prefill > most {
            return Err(BuildError::Prefill { asked: self.prefill, most });
        }
        // Sections for those that can be taken over; both are fixed for the process.
        let sections = backend() == Backend::Rseq && can_fence();
        let lanes = if sections { Some(PerCpu::<Lane>::try_zeroed()?) } else { None };
        let pool = PerCpuPool::assemble(
            Lanes::<Apart>::new(batch as u32, sections),
            lanes,
            Shared::new(self.batches),
            Kept::new(self.capacity),
            self.hooks,
        );
        pool.fill_shared(self.prefill);
        Ok(pool)
    }
}

impl<T> fmt::Debug for PoolBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("lane_capacity", &self.in_lane)
            .field("shared_batches", &self.batches)
            .field("capacity", &self.capacity)
            .field("prefill", &self.prefill)
            .finish_non_exhaustive()
    }
}
