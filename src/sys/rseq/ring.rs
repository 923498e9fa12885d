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

/// Up to where a lane's reader has given space back. Apart from the others, and not in the lane:
/// one thread at a time stores it, from any CPU, and sections load it.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct GivenBack {
    /// An index.
    pub index: AtomicUsize,
}

/// The rings of all lanes, as a push reads them. Never changed while there are pushes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rings {
    /// Lane 0's units, and behind them room for the largest record.
    pub bytes: *mut u8,
    /// Bytes from one lane's units to the next one's.
    pub stride: usize,
    /// How many units a lane has, less one: all ones.
    pub mask: usize,
    /// Lane 0's.
    pub given_back: *const GivenBack,
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

impl Rings {
    /// Where the record of `index` lies, or would, in lane number `lane`.
    #[inline(always)]
    pub fn place(&self, lane: usize, index: usize) -> *mut u8 {
        let unit = (index >> RECORD_BITS) & self.mask;
        self.bytes.wrapping_byte_add(lane * self.stride).wrapping_add(unit * UNIT)
    }

    /// Whether there is room from one index, which was given back, to another one.
    #[inline(always)]
    pub fn has_room(&self, from: usize, to: usize) -> bool {
        to.wrapping_sub(from) >> RECORD_BITS <= self.mask + 1
    }
}
