//! What a push into a ring works on: indices, bytes, and what the reader gave back.
//!
//! An **index** has two halves: the upper one counts units of 8 bytes, the lower one records. Both
//! are added to in one step, so that the one word that a push commits says where the next record
//! goes, and how many there were. The difference of two indices of a lane is the units and the
//! records between them. (A lower half that runs over carries into the upper one: a unit that
//! everybody skips, once in 2^32 records.)
//!
//! A record lies in one piece. One that begins near the end of the units runs on behind them, where
//! there is room for the largest one, and the units that it covers at the beginning stay unused this
//! time round. Two records with bytes in that room at the same time would begin a whole lap apart,
//! and end more than a lap apart; what is between the reader and the writer never is.

use crate::sync::AtomicUsize;

/// Bits of an index that count records; above them those that count units.
pub const RECORD_BITS: u32 = usize::BITS / 2;

/// Bytes of a unit: what the place of every record is a multiple of.
pub const UNIT: usize = 8;

/// Bytes of a record's header.
pub const HEADER: usize = 16;

/// A lane's ring: where its bytes are, and how far they may be written. Not in the lane itself: one
/// reader at a time stores `limit`, from any CPU, and sections load it.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Ring {
    /// What the index must not pass: what the reader gave back, and a lap; the lower half is full.
    pub limit: AtomicUsize,
    /// The units, and behind them room for the largest record.
    pub bytes: *mut u8,
    /// How many units there are, less one: all ones.
    pub mask: usize,
}

/// A record to push.
#[derive(Clone, Copy, Debug)]
pub struct Pushed {
    /// Its bytes, in memory of the caller's own.
    pub from: *const u8,
    /// By how much the index grows: its units, header and padding included, and one record.
    pub step: usize,
    /// What goes before the bytes. The lower 32 bits of the first word say how many they are.
    pub header: [u64; 2],
}

impl Pushed {
    /// `len` bytes at `from`, behind `header`, whose lower 32 bits are still zero.
    #[inline(always)]
    pub const fn new(from: *const u8, len: u32, header: [u64; 2]) -> Self {
        let units = (HEADER + len as usize).div_ceil(UNIT);
        Self { from, step: (units << RECORD_BITS) + 1, header: [header[0] | len as u64, header[1]] }
    }

    /// How many bytes there are.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.header[0] as u32 as usize
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Ring {
    /// An empty ring of `units` units, a power of two, at `bytes`.
    pub fn new(bytes: *mut u8, units: usize) -> Self {
        Self { limit: AtomicUsize::new(Self::lap(units)), bytes, mask: units - 1 }
    }

    /// How far the limit is beyond what was given back.
    const fn lap(units: usize) -> usize {
        (units << RECORD_BITS) + (1 << RECORD_BITS) - 1
    }

    /// The limit when everything before `index` is given back.
    pub const fn limit_behind(&self, index: usize) -> usize {
        index.wrapping_add(Self::lap(self.mask + 1))
    }

    /// What was given back where the limit is `limit`.
    pub const fn given_back(&self, limit: usize) -> usize {
        limit.wrapping_sub(Self::lap(self.mask + 1))
    }

    /// Where the record of `index` lies, or would.
    #[inline(always)]
    pub fn place(&self, index: usize) -> *mut u8 {
        self.bytes.wrapping_add(((index >> RECORD_BITS) & self.mask) * UNIT)
    }
}
