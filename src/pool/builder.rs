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
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// use corelocal::pool::PoolBuilder;
    ///
    /// let asked = 3_000_000;
    /// let pool = PerCpuPool::builder(|| 0_u8)
    ///     .lane_capacity(asked.min(PoolBuilder::<u8>::MOST_IN_A_LANE))
    ///     .build()?;
    /// assert_eq!(pool.lane_capacity(), 1 << 20);
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub const MOST_IN_A_LANE: usize = 1 << 20;

    pub(super) fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let hooks = Hooks { make: Box::new(make), reset: None, keep_if: None };
        Self { hooks, in_lane: 64, batches: 64, capacity: usize::MAX, prefill: 0 }
    }

    /// The most idle objects that a CPU keeps: an even number, from 2 on; 64 without this. Half of
    /// it is a **batch**, in which objects go to and from the shared queue.
    ///
    /// (On the backends without sections: the most that a thread keeps.)
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// use corelocal::pool::BuildError;
    ///
    /// let few = PerCpuPool::builder(|| [0_u8; 1 << 16]).lane_capacity(2).build()?; // large objects
    /// assert_eq!(few.lane_capacity(), 2);
    /// let odd = PerCpuPool::builder(|| 0).lane_capacity(7).build();
    /// assert_eq!(odd.err(), Some(BuildError::LaneCapacity { asked: 7 }));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn lane_capacity(mut self, objects: usize) -> Self {
        self.in_lane = objects;
        self
    }

    /// How many batches the shared queue has room for; 64 without this, and it may be 0.
    ///
    /// A search of an empty queue, and of a full one, looks at each place.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// // Threads that get and give back on one CPU: nothing has to go from CPU to CPU.
    /// let local = PerCpuPool::builder(String::new).shared_batches(0).build()?;
    /// drop(local.get());
    /// assert_eq!((local.shared_capacity(), local.objects()), (0, 1));
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn shared_batches(mut self, batches: usize) -> Self {
        self.batches = batches;
        self
    }

    /// The most objects that the pool keeps in all, those in use included; no bound without this.
    ///
    /// At the bound [`try_get`](PerCpuPool::try_get) makes no object, and the ways to get one that
    /// always succeed make one that the pool does not keep: it is dropped when it comes back.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let pool = PerCpuPool::builder(String::new).capacity(1).build()?;
    /// let (kept, extra) = (pool.get(), pool.get()); // `get` always succeeds,
    /// drop(extra);                                  // but this one is dropped, not kept
    /// assert!(pool.try_get().is_err());
    /// drop(kept);
    /// assert_eq!(pool.objects(), 1);
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn capacity(mut self, objects: usize) -> Self {
        self.capacity = objects;
        self
    }

    /// Makes so many objects at once, into the shared queue.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// // The first requests shall not pay for the objects.
    /// let pool = PerCpuPool::builder(|| vec![0_u8; 1 << 16]).prefill(64).build()?;
    /// assert_eq!(pool.objects(), 64);
    /// assert!(pool.get_idle().is_some());
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn prefill(mut self, objects: usize) -> Self {
        self.prefill = objects;
        self
    }

    /// Called with each object that comes back by itself. If it panics, the object is dropped, and
    /// the panic goes to whoever dropped the guard.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// struct Parser { depth: usize, names: Vec<String> }
    /// let pool = PerCpuPool::builder(|| Parser { depth: 0, names: Vec::new() })
    ///     .reset(|parser| {
    ///         parser.depth = 0;
    ///         parser.names.clear(); // its memory stays
    ///     })
    ///     .build()?;
    /// pool.get().names.push(String::from("a"));
    /// let parser = pool.get();
    /// assert!(parser.depth == 0 && parser.names.is_empty());
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn reset(mut self, hook: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        self.hooks.reset = Some(Box::new(hook));
        self
    }

    /// Called after the reset hook: `false` drops the object instead of keeping it. A buffer that
    /// grew too large need not stay.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let pool = PerCpuPool::builder(Vec::<u8>::new).keep_if(|buffer| buffer.capacity() <= 4096).build()?;
    /// pool.get().reserve(1 << 20); // one large request
    /// assert_eq!(pool.objects(), 0); // is not paid for until the end of the program
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
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
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// use corelocal::pool::BuildError;
    ///
    /// let wrong = PerCpuPool::builder(String::new).capacity(10).prefill(20).build();
    /// assert_eq!(wrong.err(), Some(BuildError::Prefill { asked: 20, most: 10 }));
    /// let right = PerCpuPool::builder(String::new).capacity(10).prefill(10).build()?;
    /// assert_eq!(right.objects(), 10);
    /// # Ok::<(), BuildError>(())
    /// ```
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
