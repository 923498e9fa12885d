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
///
/// ```
/// use corelocal::{PerCpuRing, ring::Record};
///
/// fn line(record: &Record<'_>) -> String {
///     let time = record.time().map_or(String::from("-"), |time| time.to_string());
///     format!("{time} {}", String::from_utf8_lossy(record.bytes()))
/// }
/// let ring = PerCpuRing::new(1 << 12);
/// ring.write_at(17, b"open").unwrap();
/// let mut reader = ring.reader()?;
/// assert_eq!(reader.drain().map(|record| line(&record)).collect::<Vec<_>>(), ["17 open"]);
/// # Ok::<(), corelocal::ring::ReaderExists>(())
/// ```
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
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(1 << 12);
    /// ring.write(&7_u64.to_ne_bytes()).unwrap();
    /// let mut reader = ring.reader()?;
    /// let record = reader.drain().next().expect("one was written");
    /// let value = u64::from_ne_bytes(record.bytes().try_into().expect("8 bytes"));
    /// assert_eq!((value, record.bytes().as_ptr().addr() % 8), (7, 0)); // where it lies, not a copy
    /// # Ok::<(), corelocal::ring::ReaderExists>(())
    /// ```
    pub fn bytes(&self) -> &'r [u8] {
        self.bytes
    }

    /// The time that the writer gave ([`write_at`](super::PerCpuRing::write_at)), in its own unit.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(1 << 12);
    /// ring.write(b"no clock").unwrap();
    /// ring.write_at(17, b"clock").unwrap();
    /// let mut reader = ring.reader()?;
    /// let mut times: Vec<Option<u64>> = reader.drain().map(|record| record.time()).collect();
    /// times.sort();
    /// assert_eq!(times, [None, Some(17)]);
    /// # Ok::<(), corelocal::ring::ReaderExists>(())
    /// ```
    pub fn time(&self) -> Option<u64> {
        self.time
    }

    /// The lane that it was written in. Records of one lane come in the order in which they were
    /// written; those of different lanes are ordered by what the writers say.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(1 << 12);
    /// let written = ring.write(b"event").unwrap();
    /// let mut reader = ring.reader()?;
    /// let record = reader.drain().next().expect("one was written");
    /// assert_eq!(record.lane(), written);
    /// println!("on CPU {:?}", record.lane().cpu());
    /// # Ok::<(), corelocal::ring::ReaderExists>(())
    /// ```
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
