//! [`BatchedCounter`]: a count that is read in one load.

use super::limit::Reserve;
use super::tree::Tree;
use super::zeros;
use crate::error::BatchError;
use crate::percpu::{Area, PerCpu, PerCpuCell};
use core::cmp::Ordering;
use core::fmt;

/// A signed count that goes up and down on each CPU's own copy, and is read in one load, with a
/// bound on how far that is off.
///
/// Each lane passes on to a tree of shared words what it has counted, a batch at a time; the root
/// is what [`read`](Self::read) loads. With `N` CPUs and a batch of `B` it is off by at most
/// [`error_bound`](Self::error_bound), which is about `N * B / 2 * log4 N`. [`sum`](Self::sum) goes
/// through the lanes and is exact, [`compare`](Self::compare) does so only where the root cannot
/// tell, and [`limited_add`](Self::limited_add) does not pass a limit.
///
/// An `add` is a section that tells what was there before; one in `B` (or fewer, if what is added
/// varies) goes on to the tree with a locked instruction or a few. 8 bytes a lane, 16 more for what
/// `limited_add` sets aside, and two cache lines for each node: about one for every three CPUs. The
/// value itself holds the root, alone in its lines: some hundred bytes, to be kept in a static, a field
/// or an `Arc` and not moved about.
/// Lock-free, and safe in signal handlers.
///
/// ```
/// use corelocal::BatchedCounter;
/// use std::cmp::Ordering;
/// let in_use = BatchedCounter::new();
/// in_use.add(4096);
/// in_use.sub(96);
/// assert_eq!(in_use.sum(), 4000);
/// assert!(in_use.read().abs_diff(4000) <= in_use.error_bound());
/// assert_eq!(in_use.compare(3999), Ordering::Greater);
/// assert_eq!(in_use.limited_add(100, 4100), Ok(()));
/// assert!(in_use.limited_add(1, 4100).is_err());
/// ```
///
/// The idea of a tree is that of Linux's hierarchical per-CPU counters (Mathieu Desnoyers, 2025), that
/// of `compare` and `limited_add` its `percpu_counter`'s; [`docs::counters`](crate::docs::counters)
/// has the rule and the proof of the bound.
pub struct BatchedCounter {
    pub(super) lanes: PerCpu<PerCpuCell<i64>>,
    pub(super) tree: Tree,
    pub(super) reserve: Reserve,
}

impl BatchedCounter {
    /// The batch, where none is asked for.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// let counter = BatchedCounter::new();
    /// assert_eq!(counter.error_bound(), BatchedCounter::with_batch(BatchedCounter::BATCH)?.error_bound());
    /// # Ok::<(), corelocal::BatchError>(())
    /// ```
    pub const BATCH: u64 = 32;

    /// A count of zero, in the global area.
    ///
    /// # Panics
    ///
    /// If the system refuses memory.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// use std::sync::LazyLock;
    ///
    /// static IN_FLIGHT: LazyLock<BatchedCounter> = LazyLock::new(BatchedCounter::new);
    /// IN_FLIGHT.inc();
    /// assert_eq!(IN_FLIGHT.sum(), 1);
    /// ```
    #[cfg(not(corelocal_loom))]
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        match Self::with_batch(Self::BATCH) {
            Ok(made) => made,
            Err(error) => panic!("no memory for a batched counter: {error}"),
        }
    }

    /// As [`BatchedCounter::new`], with a batch of one's own: a power of two, up to 2^32.
    ///
    /// A larger one goes to the tree less often, and makes `read` less exact. Choose it by the size
    /// of what is added: where that is bytes of 4096-byte pages, 32 pages are a batch of 131072.
    ///
    /// # Errors
    ///
    /// [`BatchError`]; nothing was allocated.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// // Bytes of pages of 4096: 32 of them a batch.
    /// let bytes = BatchedCounter::with_batch(32 * 4096)?;
    /// bytes.add(4096);
    /// assert!(bytes.error_bound() >= 32 * 4096 / 2);
    /// assert!(BatchedCounter::with_batch(100_000).is_err()); // no power of two
    /// # Ok::<(), corelocal::BatchError>(())
    /// ```
    #[cfg(not(corelocal_loom))]
    pub fn with_batch(batch: u64) -> Result<Self, BatchError> {
        Self::in_area(Area::global(), batch)
    }

    /// As [`BatchedCounter::with_batch`], in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`BatchError`]; nothing was allocated.
    ///
    /// ```
    /// # use corelocal::{Area, BatchedCounter};
    /// let tenant = Area::builder().capacity(16 << 20).build()?;
    /// let memory = BatchedCounter::in_area(&tenant, 4096)?;
    /// memory.limited_add(1000, 1 << 20)?;
    /// assert!(tenant.stats().live > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_area(area: &Area, batch: u64) -> Result<Self, BatchError> {
        let tree = Tree::try_new(area.lanes() - 1, batch)?;
        Ok(Self { lanes: zeros(area)?, tree, reserve: Reserve::try_new(area)? })
    }

    /// Adds `value`, wrapping, on this CPU's copy, and carries up what fills a batch.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// let queued = BatchedCounter::new();
    /// queued.add(1500);
    /// queued.add(-500); // signed: up and down
    /// assert_eq!(queued.sum(), 1000);
    /// ```
    #[inline]
    pub fn add(&self, value: i64) {
        let (lane, old) = self.lanes.fetch_add(value);
        let amount = self.tree.step(old as u64, value as u64);
        if amount != 0 {
            self.tree.carry(lane.index(), amount);
        }
    }

    /// Subtracts `value`, wrapping, as [`add`](Self::add) adds.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// let in_use = BatchedCounter::new();
    /// in_use.limited_add(4096, 8192)?;
    /// in_use.sub(4096); // given back: there is room again
    /// assert_eq!(in_use.limited_add(8192, 8192), Ok(()));
    /// # Ok::<(), corelocal::OverLimit>(())
    /// ```
    #[inline]
    pub fn sub(&self, value: i64) {
        self.add(value.wrapping_neg());
    }

    /// Adds one.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// let open = BatchedCounter::new();
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| (0..100).for_each(|_| open.inc()));
    ///     }
    /// });
    /// assert!(open.read().abs_diff(400) <= open.error_bound());
    /// ```
    #[inline]
    pub fn inc(&self) {
        self.add(1);
    }

    /// Subtracts one.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// let open = BatchedCounter::new();
    /// open.inc();
    /// std::thread::scope(|scope| { scope.spawn(|| open.dec()); }); // on whichever CPU
    /// assert_eq!(open.sum(), 0);
    /// ```
    #[inline]
    pub fn dec(&self) {
        self.sub(1);
    }

    /// About what the count is: one relaxed load.
    ///
    /// While nobody is in the middle of an update, off by at most
    /// [`error_bound`](Self::error_bound), modulo 2^64 (closer than that to the ends of an `i64` the
    /// root may have wrapped before the count). An update that is interrupted between its lane and the
    /// root withholds what it is carrying: at most its own value, rounded up to the batch of the
    /// tree's topmost nodes (the counter's own up to four CPUs, four times that up to sixteen,
    /// and so on).
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// let queued = BatchedCounter::new();
    /// queued.add(1_000_000);
    /// // Asked for at every packet, where a few more or less do not matter.
    /// let is_crowded = queued.read() > 500_000;
    /// assert!(is_crowded && queued.read().abs_diff(1_000_000) <= queued.error_bound());
    /// ```
    #[inline]
    pub fn read(&self) -> i64 {
        self.tree.read()
    }

    /// How far [`read`](Self::read) can be off, either way: a property of the counter.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// let (fine, coarse) = (BatchedCounter::with_batch(1)?, BatchedCounter::with_batch(1024)?);
    /// // The price of going to the tree less often.
    /// assert!(fine.error_bound() < coarse.error_bound());
    /// # Ok::<(), corelocal::BatchError>(())
    /// ```
    #[must_use]
    pub fn error_bound(&self) -> u64 {
        let (more, less) = self.tree.bounds();
        more.max(less)
    }

    /// The count: what was added less what was subtracted, wrapping.
    ///
    /// Exact while nobody updates, and a live sum as a gauge's otherwise: see
    /// [`PerCpuGauge::sum`](super::PerCpuGauge::sum). Nothing that is being carried is missing.
    /// Takes a relaxed load a lane.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// let bytes = BatchedCounter::with_batch(4096)?;
    /// bytes.add(100);
    /// assert_eq!(bytes.sum(), 100);  // exact,
    /// assert_eq!(bytes.read(), 0);   // where the root has not heard of it yet
    /// # Ok::<(), corelocal::BatchError>(())
    /// ```
    #[inline]
    pub fn sum(&self) -> i64 {
        self.lanes.sum()
    }

    /// What the count is at least, and at most, by the root alone. `None` where that reaches past
    /// the ends of an `i64`: then the root may have wrapped where the count has not, or not yet.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        let ((more, less), root) = (self.tree.bounds(), self.read());
        Some((root.checked_sub_unsigned(less)?, root.checked_add_unsigned(more)?))
    }

    /// How the count compares with `value`.
    ///
    /// One load where [`read`](Self::read) is further from `value` than it can be off, and the
    /// exact [`sum`](Self::sum) where it is not. So it is right while nobody is in the middle of
    /// an update, and as good as `read` or `sum` otherwise.
    ///
    /// ```
    /// # use corelocal::BatchedCounter;
    /// use std::cmp::Ordering;
    ///
    /// let free = BatchedCounter::new();
    /// free.add(1_000_000);
    /// // Below the mark, somebody has to clear up. Far from it this is one load.
    /// let mark = 1000;
    /// assert_eq!(free.compare(mark), Ordering::Greater);
    /// free.sub(999_100);
    /// assert_eq!(free.compare(mark), Ordering::Less);
    /// ```
    pub fn compare(&self, value: i64) -> Ordering {
        match self.range() {
            Some((least, _)) if least > value => Ordering::Greater,
            Some((_, most)) if most < value => Ordering::Less,
            _ => self.sum().cmp(&value),
        }
    }
}

#[cfg(not(corelocal_loom))]
impl Default for BatchedCounter {
    /// As [`BatchedCounter::new`].
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for BatchedCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchedCounter")
            .field("lanes", &self.lanes.lanes())
            .field("batch", &self.tree.batch())
            .field("error_bound", &self.error_bound())
            .finish_non_exhaustive()
    }
}
