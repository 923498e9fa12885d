//! What lies in a ring: a header of 16 bytes, and a writer's bytes.

use crate::cpu::Lane;
use crate::sys::rseq::Pushed;
use core::fmt;

/// Set in a header's first word, beside the length: the second word is a time.
const TIMED: u64 = 1 << 32;

/// A record to write.
#[inline(always)]
pub(super) fn pushed(bytes: &[u8], len: u32, time: Option<u64>) -> Pushed {
    let header = match time {
        Some(time) => [TIMED, time],
        None => [0, 0],
    };
    Pushed::new(bytes.as_ptr(), len, header)
}

/// A record as its reader sees it: the writer's bytes, where they lie in the ring.
///
/// It borrows the [`Reader`](super::Reader), which gives the space back afterwards.
#[derive(Clone, Copy)]
pub struct Record<'r> {
    bytes: &'r [u8],
    time: Option<u64>,
    lane: Lane,
}

impl<'r> Record<'r> {
    pub(super) fn new(header: [u64; 2], bytes: &'r [u8], lane: Lane) -> Self {
        let time = (header[0] & TIMED != 0).then_some(header[1]);
        Self { bytes, time, lane }
    }

    /// What was written. Aligned to 8 bytes.
    pub fn bytes(&self) -> &'r [u8] {
        self.bytes
    }

    /// The time that the writer gave ([`write_at`](super::PerCpuRing::write_at)), in its own unit.
    pub fn time(&self) -> Option<u64> {
        self.time
    }

    /// The lane that it was written in. Records of one lane come in the order in which they were
    /// written; those of different lanes are ordered by what the writers say.
    pub fn lane(&self) -> Lane {
        self.lane
    }
}

/// The length, never the bytes: they may be anybody's.
impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("len", &self.bytes.len())
            .field("time", &self.time)
            .field("lane", &self.lane.index())
            .finish_non_exhaustive()
    }
}
