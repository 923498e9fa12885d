//! How much a pool keeps, and may keep.

use super::PerCpuPool;

impl<T> PerCpuPool<T> {
    /// How many objects the pool keeps, those in use included, and those that are not kept (see
    /// [`PoolBuilder::capacity`](super::PoolBuilder::capacity)) left out. A moment ago, while others are at work.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let connections = PerCpuPool::new(|| 0);
    /// let in_use = [connections.get(), connections.get()];
    /// assert_eq!(connections.objects(), 2);
    /// drop(in_use);
    /// assert_eq!(connections.objects(), 2); // idle ones too
    /// ```
    pub fn objects(&self) -> usize {
        self.rest.kept.now()
    }

    /// The most objects that the pool keeps, those in use included; `usize::MAX` if that is not
    /// bounded.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let bounded = PerCpuPool::builder(String::new).capacity(100).build()?;
    /// assert_eq!(bounded.capacity() - bounded.objects(), 100); // so many more may be made
    /// assert_eq!(PerCpuPool::new(String::new).capacity(), usize::MAX);
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.rest.kept.most()
    }

    /// The most idle objects that a CPU keeps (without sections: a thread).
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuPool};
    /// let buffers = PerCpuPool::builder(|| [0_u8; 4096]).lane_capacity(8).build()?;
    /// // How much memory may lie idle, at most.
    /// let idle = Area::global().lanes() * buffers.lane_capacity() + buffers.shared_capacity();
    /// println!("{} KiB", idle * 4);
    /// assert_eq!(buffers.lane_capacity(), 8);
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn lane_capacity(&self) -> usize {
        2 * self.lists.most()
    }

    /// The most idle objects in the shared queue.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let buffers = PerCpuPool::builder(String::new).lane_capacity(8).shared_batches(4).build()?;
    /// assert_eq!(buffers.shared_capacity(), 4 * 4); // a batch is half a lane
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn shared_capacity(&self) -> usize {
        self.lists.most().saturating_mul(self.shared().batches())
    }

    /// Whether getting and giving back are sections: the backend is `Rseq`, and the system has the
    /// barrier that a drain needs (Linux 5.10). Else each thread has a magazine.
    ///
    /// ```
    /// # use corelocal::{Backend, PerCpuPool, backend};
    /// let pool = PerCpuPool::new(String::new);
    /// let safe_in_signal_handlers = pool.uses_sections(); // else the first use on a thread allocates
    /// assert!(backend() == Backend::Rseq || !safe_in_signal_handlers);
    /// ```
    pub fn uses_sections(&self) -> bool {
        self.lists.has_sections()
    }
}
