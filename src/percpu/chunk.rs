//! A chunk's record: which granules of a lane are taken, and whether there is a region behind it.
//!
//! Records are never freed (a thread may look at any of them at any time); only the regions behind
//! them come and go. One word says which:
//!
//! | `state`          | meaning                                                                  |
//! |------------------|--------------------------------------------------------------------------|
//! | vacant           | no region; a thread that grows the pool may take the record              |
//! | changing         | one thread is publishing a region, or giving one back; others pass by    |
//! | ready + `live`   | a region with `live` objects and reservations                            |
//!
//! **Reserve first, then take bits**: an allocation raises `live` while the record is ready, and
//! only then looks for a run of bits. So the region cannot go away under it, and a bitmap that it
//! saw earlier cannot mislead it: whoever frees clears the bits first and lowers `live` last, and
//! the region goes only at `live == 0`.

use super::bounds::Bounds;
use super::region::Region;
use crate::bitmap::AtomicBitmap;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, Watch};
#[cfg(corelocal_loom)]
use core::ptr;

/// Words of a chunk's bitmap. A model explores fewer.
pub(super) const WORDS: usize = if cfg!(corelocal_loom) { 1 } else { 128 };
/// Granules of a lane: the unit of allocation.
pub(super) const GRANULES: usize = WORDS * 64;

const VACANT: u64 = 0;
const CHANGING: u64 = 1;
const READY: u64 = 1 << 63;
const LIVE: u64 = 1;

/// A run of granules: how many, and the alignment of the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) len: usize,
    pub(super) align: usize,
}

/// Granules that the caller now owns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimed {
    pub(super) start: usize,
    /// Whether nobody ever had them: their bytes are zero in every lane.
    pub(super) fresh: bool,
}

/// The record of one chunk. All zero bytes are a vacant record.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Chunk {
    state: AtomicU64,
    /// Lane 0 of the region; means something while `live > 0`.
    lane0: AtomicPtr<u8>,
    /// Every word of the bitmap below this one was full when somebody looked (a hint).
    low: AtomicU32,
    /// Granules from here on were never handed out.
    high: AtomicU32,
    words: [AtomicU64; WORDS],
    /// The fields above but `state` and `words`: who changes the record has them alone.
    fields: Watch,
}

impl Chunk {
    /// A vacant record, where zeroed memory will not do.
    #[cfg(corelocal_loom)]
    pub(super) fn vacant() -> Self {
        Self {
            state: AtomicU64::new(VACANT),
            lane0: AtomicPtr::new(ptr::null_mut()),
            low: AtomicU32::new(0),
            high: AtomicU32::new(0),
            words: core::array::from_fn(|_| AtomicU64::new(0)),
            fields: Watch::default(),
        }
    }

    fn bits(&self) -> AtomicBitmap<&[AtomicU64; WORDS]> {
        AtomicBitmap::from_words(&self.words, GRANULES)
    }

    /// Puts `region` behind a vacant record, with one reservation that the caller holds.
    /// `false`: somebody else took the record first.
    ///
    /// `prepare` runs once the record is the caller's, before anybody can use the region.
    pub(super) fn publish(&self, region: Region, prepare: impl FnOnce()) -> bool {
        // Acquire [E4]: pairs with the Release in `retire`: what the last owner of the record
        // did to its fields is over. Relaxed on failure: nothing was taken.
        if self
            .state
            .compare_exchange(VACANT, CHANGING, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            return false;
        }
        self.fields.write();
        // Relaxed, all three: published by the store of `READY` below.
        self.lane0.store(region.lane0().as_ptr(), Ordering::Relaxed);
        self.low.store(0, Ordering::Relaxed);
        self.high.store(0, Ordering::Relaxed);
        prepare();
        // Release [E2]: pairs with the Acquire in `reserve`: who reserves sees the region.
        self.state.store(READY | LIVE, Ordering::Release);
        true
    }

    /// Keeps the region from going away: one more reservation. `false`: there is no region.
    pub(super) fn reserve(&self) -> bool {
        // Relaxed: a first guess for the compare-and-swap.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & READY != 0 {
            // Acquire [E2]: pairs with the Release in `publish`. Relaxed on failure: tried again.
            match self.state.compare_exchange_weak(
                state,
                state + LIVE,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Gives a reservation back. `true`: it was the last one, and the region is empty.
    ///
    /// Nothing of the chunk may be touched afterwards but through [`Chunk::retire`].
    pub(super) fn unreserve(&self) -> bool {
        // Release [E3]: pairs with the Acquire in `retire`: this thread is done with the region.
        let before = self.state.fetch_sub(LIVE, Ordering::Release);
        debug_assert!(before & READY != 0 && before & !READY != 0, "no reservation: {before:#x}");
        before == READY | LIVE
    }

    /// Takes an empty region out of the record, for the caller to unmap; `None` when it is in use
    /// again, or gone. The record stays unusable until [`Chunk::vacate`].
    pub(super) fn retire(&self) -> Option<Region> {
        // Acquire [E3]: pairs with the Release in `unreserve`, of every thread that ever had a
        // reservation (each `unreserve` continues the release sequence of the ones before).
        self.state
            .compare_exchange(READY, CHANGING, Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(|_| self.region())
    }

    /// Makes the record of a retired region vacant.
    pub(super) fn vacate(&self) {
        self.fields.write();
        // Release [E4]: pairs with the Acquire in `publish`.
        self.state.store(VACANT, Ordering::Release);
    }

    /// The region. The caller holds a reservation, or has retired the region.
    pub(super) fn region(&self) -> Region {
        // Relaxed: ordered by the reservation's Acquire [E2].
        self.fields.read();
        Region::from_lane0(self.lane0.load(Ordering::Relaxed))
    }

    /// Claims a run of granules. The caller holds a reservation, which becomes the object's.
    ///
    /// `bounds` are those of this chunk; a search that fails lowers them.
    pub(super) fn claim(&self, bounds: &Bounds, run: Run) -> Option<Claimed> {
        loop {
            let seen = bounds.begin();
            match self.search(run) {
                Ok(start) => return Some(self.claimed(start, run.len)),
                // Somebody who freed a run behind the search would not be noticed: once more.
                // That ends, since from here on each further turn is one that others freed in.
                Err(_) if !bounds.counted(seen) => {}
                Err(longest) => {
                    bounds.lower(seen, run.align, longest);
                    return None;
                }
            }
        }
    }

    /// Claims the bits of a run; an error says how long the longest run is.
    fn search(&self, run: Run) -> Result<usize, usize> {
        // Relaxed: a hint; the second search covers a wrong one.
        let low = self.low.load(Ordering::Relaxed) as usize;
        let found = self.bits().claim_run(low * 64, run.len, run.align);
        if found.is_err() && low > 0 {
            return self.bits().claim_run(0, run.len, run.align);
        }
        self.skip_full(low);
        found
    }

    fn claimed(&self, start: usize, len: usize) -> Claimed {
        // Relaxed: whoever had these granules before raised `high` before it cleared their bits,
        // and claiming the bits made that visible [E1].
        let high = self.high.load(Ordering::Relaxed) as usize;
        if high < start + len {
            self.high.fetch_max((start + len) as u32, Ordering::Relaxed);
        }
        Claimed { start, fresh: start >= high }
    }

    /// Gives a run back, and with it the object's reservation. `true`: the region is empty.
    ///
    /// `raised` is told the chunk's new bound, while the reservation still holds.
    pub(super) fn free(
        &self,
        bounds: &Bounds,
        start: usize,
        len: usize,
        raised: impl FnOnce(usize),
    ) -> bool {
        self.bits().release_run(start, len);
        raised(bounds.raise(|| self.bits().gap_around(start, len)));
        let word = (start / 64) as u32;
        // Relaxed, both: a hint.
        if word < self.low.load(Ordering::Relaxed) {
            self.low.fetch_min(word, Ordering::Relaxed);
        }
        self.unreserve()
    }

    /// Moves the hint past words that are full by now.
    fn skip_full(&self, low: usize) {
        // Relaxed, all: a hint.
        let full = |at: &usize| self.words[*at].load(Ordering::Relaxed) == u64::MAX;
        let end = (low..WORDS).take_while(full).last();
        if let Some(end) = end {
            let (low, next) = (low as u32, (end + 1).min(WORDS - 1) as u32);
            let _ = self.low.compare_exchange(low, next, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Granules that are taken now, for statistics.
    pub(super) fn taken(&self) -> usize {
        self.bits().count()
    }

    /// Whether there is a region now, for statistics.
    pub(super) fn is_ready(&self) -> bool {
        // Relaxed: a statistic.
        self.state.load(Ordering::Relaxed) & READY != 0
    }
}
