//! What a search for a run of granules can know about a chunk without reading its bitmap.

use super::chunk::GRANULES;
use super::stride::{SECOND_LANE, SECOND_SIZE, SMALL_ALIGN, SMALL_LANE, SMALL_SIZE};
use crate::sync::{AtomicU64, Ordering, fence_after_rmw};

/// The alignment of a run that begins on a line of the small class, in granules of 8 bytes.
pub(super) const LINE_ALIGN: usize = SMALL_ALIGN / 8;

/// A bound for runs that keeps no search out: no object takes so many granules.
const ENOUGH: usize = if cfg!(corelocal_loom) { GRANULES * 3 / 4 } else { GRANULES / 4 };
// Padding to an odd number of lines adds a line at most.
const _: () = assert!(SMALL_SIZE + SMALL_ALIGN <= SMALL_LANE / GRANULES * ENOUGH);
const _: () = assert!(SECOND_SIZE + SMALL_ALIGN <= SECOND_LANE / GRANULES * ENOUGH);

/// Upper bounds of a chunk's longest free runs. All zero bytes say that nothing is free.
///
/// The bounds are hints: a wrong one costs a search or a hole that waits for the next free, never
/// an object.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Bounds(AtomicU64);

/// A version of the bounds, as a search saw it when it began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen(u64);

/// The word, taken apart.
#[derive(Clone, Copy)]
struct Parts {
    /// Counts the frees: a failed search may lower the bounds only if there was none meanwhile.
    version: u32,
    /// No free run has more granules than this.
    any: u16,
    /// No free run that begins on a line has more granules than this.
    line: u16,
}

impl Parts {
    const fn pack(self) -> u64 {
        (self.version as u64) << 32 | (self.line as u64) << 16 | self.any as u64
    }

    /// Whether no search has failed since the chunk was wholly free.
    fn unbound(self) -> bool {
        usize::from(self.line.min(self.any)) == GRANULES
    }

    /// Whether a longer run would change nothing.
    fn enough(self) -> bool {
        usize::from(self.line.min(self.any)) >= ENOUGH
    }

    const fn unpack(word: u64) -> Self {
        Self { version: (word >> 32) as u32, line: (word >> 16) as u16, any: word as u16 }
    }
}

impl Bounds {
    #[cfg(any(test, corelocal_loom))]
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Sets the bounds of a chunk that is wholly free (`GRANULES`) or has no region (0).
    pub(super) fn reset(&self, longest: usize) {
        // Relaxed, both: the caller alone has the chunk, and publishes it with [E2] or [E4].
        let version = Parts::unpack(self.0.load(Ordering::Relaxed)).version.wrapping_add(1);
        let new = Parts { version, any: longest as u16, line: longest as u16 };
        self.0.store(new.pack(), Ordering::Relaxed);
    }

    /// An upper bound of the longest free run whose beginning is a multiple of `align`.
    #[inline]
    pub(super) fn longest(&self, align: usize) -> usize {
        // Relaxed: a hint; a search that goes by it takes [E5] in `begin`.
        let parts = Parts::unpack(self.0.load(Ordering::Relaxed));
        // A multiple of a larger power of two is one of a line's, too.
        usize::from(if align < LINE_ALIGN { parts.any } else { parts.line })
    }

    /// To be called before a search, whose failure [`Bounds::lower`] may then record.
    pub(super) fn begin(&self) -> Seen {
        // Acquire [E5]: pairs with the Release in `raise`: the search sees every bit that was
        // cleared before the bounds were raised to this version.
        Seen(self.0.load(Ordering::Acquire))
    }

    /// To be called after a search that failed, before it is recorded: `false` if it cannot be, since
    /// until now nobody counted the frees. They do from here on, and the search is to be repeated.
    pub(super) fn counted(&self, seen: Seen) -> bool {
        let parts = Parts::unpack(seen.0);
        if !parts.unbound() {
            return true;
        }
        let bound = GRANULES as u16 - 1;
        let new = Parts { version: parts.version, any: bound, line: bound }.pack();
        // Relaxed, both: a hint; if it fails, somebody else did it.
        let _ = self.0.compare_exchange(seen.0, new, Ordering::Relaxed, Ordering::Relaxed);
        // [E6] with the fence in `raise`: either that free sees that it counts, or the search that
        // is repeated sees the bits that it cleared.
        fence_after_rmw();
        false
    }

    /// A search that began at `seen` found no run longer than `longest`.
    pub(super) fn lower(&self, seen: Seen, align: usize, longest: usize) {
        let mut parts = Parts::unpack(seen.0);
        let (longest, align) = (longest as u16, align as u16);
        // A free run that is longer than this by `align - 1` would hold a longer one that is aligned.
        parts.any = parts.any.min(longest + align - 1);
        // So would one that begins on a line, which has fewer steps to the next aligned place.
        parts.line = parts.line.min(longest + align.saturating_sub(LINE_ALIGN as u16));
        // Relaxed: lowers a hint; if it fails, a run was freed meanwhile.
        let new = parts.pack();
        let _ = self.0.compare_exchange(seen.0, new, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// A run of granules was freed, with others around it: `merged` tells how long a run that is. It is
    /// not asked where the bounds let every search in: many frees in a row would each walk over what
    /// the ones before them have freed.
    ///
    /// The caller's last step was to clear the run's bits. Returns the new bound for all runs.
    pub(super) fn raise(&self, merged: impl Fn() -> usize) -> usize {
        // [E6] with the fence in `counted`, and with itself: of two runs that are freed side by side
        // at one time, one at least sees that the other is free.
        fence_after_rmw();
        // Relaxed: a first guess for the compare-and-swap.
        let mut seen = self.0.load(Ordering::Relaxed);
        if Parts::unpack(seen).unbound() {
            // No search has failed yet, so there is no bound to raise: see `counted`.
            return GRANULES;
        }
        let mut known = None;
        loop {
            let parts = Parts::unpack(seen);
            let Parts { version, any, line } = parts;
            // Each time round: a search that failed meanwhile may have lowered them.
            let merged = if parts.enough() { 0 } else { *known.get_or_insert_with(&merged) as u16 };
            // A run that begins on a line is no longer than the run that it lies in.
            let (any, line) = (any.max(merged), line.max(merged));
            let new = Parts { version: version.wrapping_add(1), any, line }.pack();
            // Release [E5]: pairs with the Acquire in `begin`. Relaxed on failure: tried again.
            match self.0.compare_exchange_weak(seen, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return usize::from(any),
                Err(now) => seen = now,
            }
        }
    }
}

#[cfg(all(test, not(corelocal_loom)))]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// In a chunk where no search had failed before, and then where one had.
    #[test]
    fn a_run_that_is_freed_behind_a_failed_search_is_not_lost() {
        let bounds = Bounds::new();
        bounds.reset(GRANULES);
        for turn in ["first", "second"] {
            let seen = bounds.begin();
            bounds.raise(|| 100);
            if bounds.counted(seen) {
                bounds.lower(seen, 1, 0);
            }
            assert!(bounds.longest(1) >= 100, "the {turn} failed search");
        }
        let seen = bounds.begin();
        assert!(bounds.counted(seen));
        bounds.lower(seen, 1, 7);
        assert_eq!(bounds.longest(1), 7);
    }

    /// Frees in a row: the gap is measured until every object would find room, and not again; but so it is
    /// behind a failed search.
    #[test]
    fn a_gap_that_has_room_for_everything_is_measured_at_each_free() {
        let bounds = Bounds::new();
        bounds.reset(GRANULES);
        assert!(!bounds.counted(bounds.begin()));
        bounds.lower(bounds.begin(), 1, 0);
        let asked = Cell::new(0);
        let free = |gap: usize| {
            bounds.raise(|| {
                asked.set(asked.get() + 1);
                gap
            })
        };
        assert_eq!((free(ENOUGH - 1), asked.get()), (ENOUGH - 1, 1));
        assert_eq!((free(ENOUGH), asked.get()), (ENOUGH, 2));
        assert_eq!((free(ENOUGH + 1), asked.get()), (ENOUGH, 2));
        bounds.lower(bounds.begin(), 1, 3);
        assert_eq!((free(ENOUGH + 2), asked.get()), (ENOUGH + 2, 3));
    }

    /// Or each object of that alignment would search every full chunk that there is.
    #[test]
    fn a_full_chunk_is_passed_by_whatever_the_alignment() {
        for align in (0..=6).map(|k| 1 << k) {
            let bounds = Bounds::new();
            bounds.reset(GRANULES);
            bounds.lower(bounds.begin(), align, 0);
            assert!(bounds.longest(align) < align, "aligned to {align}: {}", bounds.longest(align));
        }
    }

    /// Free runs at any place and of any length: the bounds that a search for one alignment leaves
    /// hold for those of every other.
    #[test]
    fn bounds_from_one_alignment_hold_for_the_others() {
        let aligned = |start: usize, len: usize, align: usize| {
            (start + len).saturating_sub(start.next_multiple_of(align))
        };
        for (start, len) in (0..130).flat_map(|start| (1..200).map(move |len| (start, len))) {
            for align in (0..=6).map(|k| 1 << k) {
                let bounds = Bounds::new();
                bounds.reset(GRANULES);
                bounds.lower(bounds.begin(), align, aligned(start, len, align));
                for other in (0..=6).map(|k| 1 << k) {
                    let (there, bound) = (aligned(start, len, other), bounds.longest(other));
                    assert!(bound >= there, "{start}+{len}, {align}, {other}: {bound} < {there}");
                }
            }
        }
    }
}
