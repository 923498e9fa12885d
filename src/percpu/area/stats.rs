//! Where an area's memory went.

use super::Inner;
use crate::sync::Ordering;

/// Where an area's memory went. All figures are of one moment, and not a snapshot while other
/// threads allocate.
///
/// ```
/// # use corelocal::{Area, PerCpuCell};
/// let area = Area::builder().build()?;
/// let empty = area.stats();
/// assert_eq!((empty.live, empty.chunks), (0, 0));
/// let counter = area.try_alloc_zeroed::<PerCpuCell<u64>>()?;
/// let one = area.stats();
/// assert_eq!((one.live, one.chunks), (8 * one.lanes, 1)); // 8 bytes a lane,
/// assert!(one.reserved >= 64 * 1024 * one.lanes);         // in a chunk that others share
/// # drop(counter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct AreaStats {
    /// Lanes of every object: one for each CPU, and the spill lane.
    pub lanes: usize,
    /// Chunks that are mapped now.
    pub chunks: usize,
    /// Bytes of address space that are reserved now, dead pages and headers included. Memory is
    /// charged only for pages that were written.
    pub reserved: usize,
    /// Bytes of living objects, in all lanes, rounding included.
    pub live: usize,
    /// Bytes of the records that describe the chunks.
    pub bookkeeping: usize,
}

impl Inner {
    /// Bytes and chunks, counted now.
    pub(in crate::percpu) fn stats(&self) -> AreaStats {
        let lanes = self.cpus() as usize + 1;
        let (mut chunks, mut live) = (0, 0);
        for pool in [&self.small, &self.second] {
            pool.for_each(|_, chunk| {
                chunks += 1;
                live += chunk.taken() * pool.granule();
            });
        }
        // Relaxed, both: statistics.
        let own = self.own.load(Ordering::Relaxed);
        let reserved = self.reserved.load(Ordering::Relaxed);
        let bookkeeping =
            chunks * (crate::percpu::pool::RECORD_BYTES + crate::percpu::stride::DEAD_PAGE);
        AreaStats { lanes, chunks, reserved, live: (live + own) * lanes, bookkeeping }
    }
}
