//! [`Area`]: reserved address space, cut into lanes; it grows by chunks and gives them back whole.

use super::chunk::Run;
use super::pool::{Group, Pool, Record};
use super::region::Region;
use super::stride::{Class, SECOND_LANE, SMALL_ALIGN, SMALL_LANE, Shape};
use crate::error::AllocError;
use crate::once::OncePtr;
use crate::sync::{Arc, AtomicPtr, AtomicUsize, Ordering};
use core::fmt;
use core::ptr::{self, NonNull};

mod stats;

pub use stats::AreaStats;

/// How an area was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Config {
    /// CPU lanes; 0 means as many as the machine has.
    pub(super) cpus: u32,
    pub(super) huge_pages: bool,
    pub(super) odd_lines: bool,
    pub(super) by_node: bool,
    pub(super) capacity: usize,
}

impl Config {
    pub(super) const DEFAULT: Self =
        Self { cpus: 0, huge_pages: false, odd_lines: true, by_node: true, capacity: usize::MAX };
}

/// What is behind an [`Area`], and what an object's header leads to.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) config: Config,
    /// The `Arc` that holds this area, for its objects to keep it alive: each counts once. Nothing
    /// in the global area, which lives for ever. (The pointer of the `Arc` itself: one made from a
    /// `&Inner` would not be allowed to reach the counts.)
    shared: OncePtr<Self>,
    small: Pool,
    second: Pool,
    /// A chunk that became empty last: it is kept until the next one does.
    spare: AtomicPtr<Group>,
    /// Bytes of address space of all regions.
    reserved: AtomicUsize,
    /// Bytes of all lanes of objects with a mapping of their own.
    own: AtomicUsize,
}

// SAFETY: the raw pointers inside lead to records and regions that any thread may use: records
// hold nothing but atomics, and a region's bytes belong to the objects in it.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// A run of bytes in every lane, at one offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Lane 0's bytes.
    pub(super) lane0: NonNull<u8>,
    /// Whether nobody ever had them: they are zero in every lane.
    pub(super) fresh: bool,
}

impl Inner {
    crate::sync::const_unless_loom! {
        const fn new(config: Config) -> Self {
            Self {
                config,
                shared: OncePtr::new(),
                small: Pool::new(Shape::new(8, 8), SMALL_LANE),
                second: Pool::new(Shape::new(8, super::stride::SECOND_ALIGN), SECOND_LANE),
                spare: AtomicPtr::new(ptr::null_mut()),
                reserved: AtomicUsize::new(0),
                own: AtomicUsize::new(0),
            }
        }
    }

    /// CPU lanes of every object in the area.
    #[inline]
    pub(super) fn cpus(&self) -> u32 {
        if self.config.cpus == 0 { crate::sys::cpus() } else { self.config.cpus }
    }

    fn pool(&self, class: Class) -> Option<&Pool> {
        match class {
            Class::Small => Some(&self.small),
            Class::Second => Some(&self.second),
            Class::Own | Class::TooLarge => None,
        }
    }

    /// The run that an object takes in a pool.
    fn run(&self, pool: &Pool, size: usize, align: usize) -> Run {
        let granule = pool.granule();
        let (size, align) = padded(size, align, self.config.odd_lines);
        Run { len: size.div_ceil(granule), align: align.div_ceil(granule) }
    }

    /// Maps a region, if the area may still grow by it; if need be in the place of the spare chunk.
    ///
    /// # Errors
    ///
    /// [`AllocError::AreaFull`] at the area's capacity, and those of [`Region::map`].
    pub(super) fn map(&self, shape: Shape, lane_bytes: usize) -> Result<Region, AllocError> {
        // How operations reach their copies is fixed before there is a copy.
        crate::sys::choose_backend();
        let first = self.map_beside(shape, lane_bytes);
        if first.is_err() && self.give_spare_back() {
            return self.map_beside(shape, lane_bytes);
        }
        first
    }

    fn map_beside(&self, shape: Shape, lane_bytes: usize) -> Result<Region, AllocError> {
        let region = Region::map(self, shape, lane_bytes)?;
        // SAFETY: just mapped.
        let bytes = unsafe { region.header() }.reserved();
        let capacity = self.config.capacity;
        let with = |before: usize| before.checked_add(bytes).filter(|&sum| sum <= capacity);
        // Relaxed, both: a count of its own; it orders nothing. What is refused is never in it, or
        // it would be in the way of somebody else's request that fits.
        if self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with).is_err() {
            // SAFETY: nobody else knows of the region.
            unsafe { region.unmap() };
            return Err(AllocError::AreaFull { capacity });
        }
        Ok(region)
    }

    /// Gives the spare chunk back, if there is one and it is empty still; whether that was so.
    #[cold]
    fn give_spare_back(&self) -> bool {
        // Acquire [E8]: as in `emptied`; it leaves nothing to be seen. A chunk that is in use again
        // comes back there.
        let spare = self.spare.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: records get into `spare` in `emptied` only, so it belongs to this area.
        let region = Record::from_raw(spare).and_then(|record| unsafe { record.retire() });
        let Some(region) = region else { return false };
        // SAFETY: `retire` found the region empty, and took it out of the record.
        unsafe { self.unmap(region) };
        true
    }

    /// Gives a region back.
    ///
    /// # Safety
    ///
    /// Nobody uses the region any more.
    pub(super) unsafe fn unmap(&self, region: Region) {
        // SAFETY: the region lives until the next statement.
        let bytes = unsafe { region.header() }.reserved();
        // SAFETY: passed on to the caller.
        unsafe { region.unmap() };
        // Relaxed: as in `map`.
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Takes `size` bytes in every lane. Lock-free where a chunk has room; growing asks the system.
    ///
    /// # Errors
    ///
    /// [`AllocError`], with nothing taken.
    pub(super) fn alloc(&self, size: usize, align: usize) -> Result<Block, AllocError> {
        let shape = Shape::new(size, align);
        let block = match self.pool(shape.class) {
            Some(pool) => {
                // SAFETY: `self` is borrowed, so its pools live.
                let emptied = |record| unsafe { self.emptied(record) };
                let (region, offset, fresh) =
                    pool.claim(self, self.run(pool, size, align), emptied)?;
                // SAFETY: the run lies in lane 0.
                Block { lane0: unsafe { region.lane0().add(offset) }, fresh }
            }
            None if shape.class == Class::TooLarge => {
                let lanes = self.cpus() as usize + 1;
                return Err(AllocError::CapacityOverflow { size, align, lanes });
            }
            None => {
                let region = self.map(shape, size.max(1))?;
                // Relaxed: a statistic.
                self.own.fetch_add(size.max(1), Ordering::Relaxed);
                Block { lane0: region.lane0(), fresh: true }
            }
        };
        if let Some(shared) = self.shared.get() {
            // SAFETY: the pointer is the `Arc`'s, which is alive while `self` is borrowed.
            unsafe { Arc::increment_strong_count(shared.as_ptr()) };
        }
        Ok(block)
    }

    /// Gives a block back, to whichever area it came from.
    ///
    /// # Safety
    ///
    /// * `lane0` came from [`Inner::alloc`] with this size and alignment, and was not freed.
    /// * Nobody uses its bytes any more, in any lane.
    pub(super) unsafe fn free(lane0: NonNull<u8>, size: usize, align: usize) {
        let shape = Shape::new(size, align);
        // SAFETY: the block lies in lane 0 of a living region of its shape.
        let region = unsafe { Region::of(lane0, shape) };
        // SAFETY: as above; the header is not used after the region is given back.
        let header = unsafe { region.header() };
        // SAFETY: the area lives as long as its objects: it is the global one, or counts them.
        let area = unsafe { header.area.as_ref() };
        match (area.pool(shape.class), header.record) {
            (Some(pool), Some(record)) => {
                let offset = lane0.addr().get() - region.lane0().addr().get();
                let run = area.run(pool, size, align);
                // SAFETY: the pool lives as its area does; the run is the caller's.
                if unsafe { record.free(offset / pool.granule(), run.len) } {
                    // SAFETY: the pool lives.
                    unsafe { area.emptied(record) };
                }
            }
            _ => {
                // Relaxed: a statistic.
                area.own.fetch_sub(size.max(1), Ordering::Relaxed);
                // SAFETY: the region served this object alone.
                unsafe { area.unmap(region) };
            }
        }
        if let Some(shared) = area.shared.get() {
            // SAFETY: the pointer is the `Arc`'s, and `alloc` took this count. Nothing of the area
            // is used afterwards.
            unsafe { Arc::decrement_strong_count(shared.as_ptr()) };
        }
    }

    /// A chunk became empty: it is kept as the spare one, and the spare one before it goes.
    ///
    /// # Safety
    ///
    /// The record belongs to a pool of this area.
    unsafe fn emptied(&self, record: Record) {
        // AcqRel [E8]: with itself: who takes a record out sees the group that it lies in.
        let before = self.spare.swap(record.into_raw(), Ordering::AcqRel);
        if let Some(before) = Record::from_raw(before).filter(|&before| before != record) {
            // SAFETY: records get into `spare` here only, so it belongs to this area.
            if let Some(region) = unsafe { before.retire() } {
                // SAFETY: `retire` found the region empty, and took it out of the record.
                unsafe { self.unmap(region) };
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Objects count themselves, so there are none: what is left is the spare chunk.
        for pool in [&self.small, &self.second] {
            pool.for_each(|record, _| {
                // SAFETY: the record is the pool's.
                if let Some(region) = unsafe { record.retire() } {
                    // SAFETY: the region is empty, and nobody else is left.
                    unsafe { self.unmap(region) };
                }
            });
        }
    }
}

/// Objects of two lines or more get an odd number of lines, where that is wanted and possible:
/// equal steps of an even number of lines use a part of the cache's sets only.
fn padded(size: usize, align: usize, odd_lines: bool) -> (usize, usize) {
    let size = size.max(1);
    if size < SMALL_ALIGN || align > SMALL_ALIGN {
        return (size, align);
    }
    // A line or more begins on a line.
    let lines = size.div_ceil(SMALL_ALIGN);
    let odd = if odd_lines && lines > 1 { lines | 1 } else { lines };
    (odd * SMALL_ALIGN, SMALL_ALIGN)
}

/// Reserved address space that per-CPU objects are allocated from.
///
/// [`Area::global`] serves every [`PerCpu`](crate::PerCpu) that is not told otherwise; an area of
/// one's own has its own settings, capacity and statistics. It lives until it is dropped *and*
/// its last object is.
///
/// ```
/// use corelocal::{Area, PerCpuCell};
/// let area = Area::builder().capacity(16 << 20).build()?;
/// let hits = area.try_alloc(|_| PerCpuCell::new(0_u64))?;
/// hits.add(1);
/// drop(area); // `hits` keeps what it needs
/// assert_eq!(hits.sum(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Area {
    inner: Owner,
}

enum Owner {
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "a model has no statics"))]
    Global(&'static Inner),
    Counted(Arc<Inner>),
}

#[cfg(not(corelocal_loom))]
static GLOBAL_INNER: Inner = Inner::new(Config::DEFAULT);

#[cfg(not(corelocal_loom))]
static GLOBAL: Area = Area { inner: Owner::Global(&GLOBAL_INNER) };

impl Area {
    /// The area that [`PerCpu`](crate::PerCpu) allocates from.
    ///
    /// ```
    /// let before = corelocal::Area::global().stats();
    /// assert!(before.lanes >= 2); // a CPU's lane, and the spill lane
    /// ```
    #[cfg(not(corelocal_loom))]
    #[inline]
    pub fn global() -> &'static Self {
        &GLOBAL
    }

    /// An area with its own settings; see [`AreaBuilder`](super::AreaBuilder).
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuCell};
    /// // A plug-in's objects: bounded, and counted apart.
    /// let plugin = Area::builder().capacity(64 << 20).huge_pages(false).build()?;
    /// let calls = plugin.try_alloc_zeroed::<PerCpuCell<u64>>()?;
    /// calls.add(1);
    /// assert!(plugin.stats().reserved <= 64 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder() -> super::AreaBuilder {
        super::AreaBuilder::new()
    }

    pub(super) fn with_config(config: Config) -> Self {
        let inner = Arc::new(Inner::new(config));
        let shared = NonNull::new(Arc::as_ptr(&inner).cast_mut());
        let published = shared.map(|shared| inner.shared.publish(shared));
        debug_assert_eq!(published, Some(Ok(())), "the area is new");
        Self { inner: Owner::Counted(inner) }
    }

    #[inline]
    pub(super) fn inner(&self) -> &Inner {
        match &self.inner {
            Owner::Global(inner) => inner,
            Owner::Counted(inner) => inner,
        }
    }

    /// Lanes of every object of this area: one for each CPU, and the spill lane.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpu};
    /// // What an object costs: its size, so many times.
    /// let lanes = Area::global().lanes();
    /// assert_eq!(PerCpu::new(|_| 0_u64).lanes(), lanes);
    /// println!("8 KiB a CPU: {} KiB", 8 * lanes);
    /// ```
    #[inline]
    pub fn lanes(&self) -> usize {
        self.inner().cpus() as usize + 1
    }

    /// Where the memory went. Reads every chunk's bitmap: 1 KiB a chunk.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuCell};
    /// let area = Area::builder().build()?;
    /// let counters = (0..100)
    ///     .map(|_| area.try_alloc_zeroed::<PerCpuCell<u64>>())
    ///     .collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(area.stats().live, 100 * 8 * area.lanes());
    /// drop(counters);
    /// assert_eq!(area.stats().live, 0); // nothing leaks
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> AreaStats {
        self.inner().stats()
    }
}

impl fmt::Debug for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Area").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
