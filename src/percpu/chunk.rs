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

use super::region::Region;
use crate::bitmap::AtomicBitmap;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use core::ptr::{self, NonNull};

/// Words of a chunk's bitmap. A model explores fewer.
pub(super) const WORDS: usize = if cfg!(corelocal_loom) { 1 } else { 128 };
/// Granules of a lane: the unit of allocation.
pub(super) const GRANULES: usize = WORDS * 64;

const VACANT: u64 = 0;
const CHANGING: u64 = 1;
const READY: u64 = 1 << 63;
const LIVE: u64 = 1;

/// What a search for a run of granules knows about a chunk without reading its bitmap.
///
/// `version` counts the frees; a failed search may lower the bounds only if there was none since
/// it began.
#[derive(Clone, Copy)]
struct Bounds {
    version: u32,
    /// No run of more granules than this is free.
    any: u16,
    /// No run of more granules than this is free that begins on a line.
    line: u16,
}

impl Bounds {
    const fn pack(self) -> u64 {
        (self.version as u64) << 32 | (self.line as u64) << 16 | self.any as u64
    }

    const fn unpack(word: u64) -> Self {
        Self { version: (word >> 32) as u32, line: (word >> 16) as u16, any: word as u16 }
    }
}

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

/// The record of one chunk.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Chunk {
    state: AtomicU64,
    /// Lane 0 of the region; means something while `live > 0`.
    lane0: AtomicPtr<u8>,
    bounds: AtomicU64,
    /// Every word of the bitmap below this one was full when somebody looked (a hint).
    low: AtomicU32,
    /// Granules from here on were never handed out.
    high: AtomicU32,
    bits: AtomicBitmap<[AtomicU64; WORDS]>,
}
