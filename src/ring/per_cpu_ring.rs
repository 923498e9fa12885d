//! The ring itself.

use super::lanes::{self, Lanes, RECORDS};
use super::reader::Reader;
use super::record;
use super::stats::LaneStats;
use super::{ReaderExists, RingError, WriteError};
use crate::cpu::{CpuId, Lane};
use crate::field;
use crate::percpu::{Area, PerCpu, PerCpuBytes, PerCpuRef};
use crate::sys::rseq::{Anchor, Atomic, Entry, HEADER, Outcome, Pushed, RECORD_BITS, Stride, UNIT};
use core::fmt;

/// The distance between the anchors of two lanes.
#[derive(Clone, Copy, Debug)]
struct Apart;

impl Stride for Apart {
    const BYTES: usize = PerCpuRef::<'static, lanes::Lane>::STRIDE;
}

/// A ring of records for each CPU, for tracing: written to on the CPU by any thread, and read by one.
///
/// A **record** is up to [`largest_record`](Self::largest_record) bytes, and a time if the writer
/// gives one. [`write`](Self::write) copies it into this CPU's ring. With the backend `Rseq` that is
/// one restartable sequence: no lock prefix, no call, no allocation, no wait for other threads. A
/// ring that is full **drops the newest**: what is in it, and was not read, is never overwritten, and
/// the record that has no room is counted. A [`Reader`] takes the records out, of all CPUs.
///
/// See [the module](crate::ring) for how it is built, and the page
/// [`docs::rings`](crate::docs::rings) for when not to use it.
///
/// ```
/// use corelocal::PerCpuRing;
///
/// let ring = PerCpuRing::new(1 << 16); // bytes a CPU
/// std::thread::scope(|scope| {
///     for thread in 0..4_u8 {
///         let ring = &ring;
///         scope.spawn(move || {
///             for event in 0..100 {
///                 ring.write(&[thread, event]).expect("there is room for all");
///             }
///         });
///     }
/// });
/// let mut reader = ring.reader()?;
/// assert_eq!(reader.drain().count(), 400);
/// assert_eq!(reader.drain().count(), 0, "each record once");
/// # Ok::<(), corelocal::ring::ReaderExists>(())
/// ```
///
/// # Which call may be made where
///
/// | call | cost | signal handlers | child of `fork` |
/// |---|---|---|---|
/// | [`write`](Self::write), [`write_at`](Self::write_at) | a section | yes | yes, into rings of its own |
/// | [`reader`](Self::reader) | an allocation of a word a lane | no | yes, unless another thread had it |
/// | [`Reader::drain`] | a load a lane, some steps a record | no | yes |
/// | [`stats`](Self::stats), [`dropped`](Self::dropped) | some loads a lane | yes | yes |
///
/// Without sections, a record is written under a lock of the lane that is only tried, never waited
/// for: who finds it held, as a handler that interrupts a writer does, goes to the spill lane, and
/// drops the record (counted) if that one is held as well.
///
/// # Memory orderings
///
/// Who reads a record sees what its writer did before. Nothing else is ordered; records of two lanes
/// are ordered by their times alone.
// What the hot path reads comes first, and shares no line with what others write.
#[repr(C, align(64))]
pub struct PerCpuRing {
    lanes: Lanes<Apart>,
    /// The largest record's bytes.
    most: usize,
    cpus: u32,
    anchors: PerCpu<lanes::Lane>,
    /// Owns the bytes.
    _bytes: PerCpuBytes,
}

impl PerCpuRing {
    /// The smallest capacity, in bytes a lane.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let tiny = PerCpuRing::new(PerCpuRing::LEAST_CAPACITY);
    /// assert_eq!((tiny.capacity(), tiny.largest_record()), (256, 112));
    /// ```
    pub const LEAST_CAPACITY: usize = 256;
    /// The largest capacity, in bytes a lane: what half an index can count twice.
    ///
    /// ```
    /// # use corelocal::{PerCpuRing, ring::RingError};
    /// let asked = 2 * PerCpuRing::MOST_CAPACITY;
    /// let error = PerCpuRing::try_new(asked).unwrap_err();
    /// assert_eq!(error, RingError::Capacity { asked, right: PerCpuRing::MOST_CAPACITY });
    /// ```
    pub const MOST_CAPACITY: usize =
        if usize::BITS > 32 { 1 << 30 } else { 1 << (RECORD_BITS + 1) };
    /// The largest record of any ring, with its header: a section should be short.
    const MOST_RECORD: usize = 4096;

    /// Rings of `capacity` bytes a lane, a power of two.
    ///
    /// A record takes 16 bytes more than it has, rounded up to 8. Memory is taken as it is written to:
    /// a CPU that writes nothing costs nothing but address space.
    ///
    /// # Panics
    ///
    /// If the capacity is no power of two, or out of bounds, or there is no memory.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(1 << 20); // 1 MiB of addresses a CPU, and memory for what is written
    /// let lane = ring.write(b"begun").unwrap();
    /// let used = ring.stats().filter(|(_, lane)| lane.written > 0).map(|(lane, _)| lane);
    /// assert!(used.eq([lane]));
    /// ```
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        match Self::try_new(capacity) {
            Ok(ring) => ring,
            Err(error) => panic!("no ring: {error}"),
        }
    }

    /// As [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// [`RingError`], which says which capacity would be right.
    ///
    /// ```
    /// use corelocal::PerCpuRing;
    /// use corelocal::ring::RingError;
    /// let wrong = PerCpuRing::try_new(1000).unwrap_err();
    /// assert_eq!(wrong, RingError::Capacity { asked: 1000, right: 1024 });
    /// ```
    pub fn try_new(capacity: usize) -> Result<Self, RingError> {
        Self::in_area(Area::global(), capacity)
    }

    /// As [`new`](Self::new), in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`RingError`].
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuRing};
    /// let tracing = Area::builder().capacity(64 << 20).build()?;
    /// let ring = PerCpuRing::in_area(&tracing, 1 << 12)?;
    /// ring.write(b"event")?;
    /// assert!(tracing.stats().reserved >= ring.capacity() * tracing.lanes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_area(area: &Area, capacity: usize) -> Result<Self, RingError> {
        let (least, most) = (Self::LEAST_CAPACITY, Self::MOST_CAPACITY);
        let right = capacity.clamp(least, most).next_power_of_two();
        if capacity != right {
            return Err(RingError::Capacity { asked: capacity, right });
        }
        let largest = Self::MOST_RECORD.min(capacity / 2);
        let anchors = area.try_alloc_zeroed::<lanes::Lane>()?;
        let bytes = PerCpuBytes::try_new(area, capacity + largest)?;
        let (lane0, stride) = (bytes.lane0().as_ptr(), bytes.stride());
        let lanes = Lanes::new(lane0, stride, capacity / UNIT, anchors.lanes());
        let cpus = anchors.cpus() as u32;
        Ok(Self { lanes, most: largest - HEADER, cpus, anchors, _bytes: bytes })
    }

    /// Writes a record without a time into this CPU's ring. Says in which lane.
    ///
    /// Never waits, allocates or panics; safe in signal handlers. Takes as long as copying the bytes,
    /// and a few instructions.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; nothing was written.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(1 << 12);
    /// /// An event of a fixed size, written without an allocation.
    /// fn trace(ring: &PerCpuRing, kind: u16, value: u32) {
    ///     let mut record = [0; 6];
    ///     record[..2].copy_from_slice(&kind.to_le_bytes());
    ///     record[2..].copy_from_slice(&value.to_le_bytes());
    ///     let _ = ring.write(&record); // dropped records are counted
    /// }
    /// trace(&ring, 3, 700);
    /// let mut reader = ring.reader()?;
    /// assert_eq!(reader.drain().next().unwrap().bytes(), [3, 0, 188, 2, 0, 0]);
    /// # Ok::<(), corelocal::ring::ReaderExists>(())
    /// ```
    #[inline]
    pub fn write(&self, bytes: &[u8]) -> Result<Lane, WriteError> {
        self.push(bytes, None)
    }

    /// As [`write`](Self::write), with a time that the reader finds beside the bytes: from whichever
    /// clock, in whichever unit.
    ///
    /// The time is the caller's: a thread can be interrupted between taking it and writing, so the
    /// times of one lane are not in order, only nearly so.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; nothing was written.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// use std::time::Instant;
    ///
    /// let began = Instant::now();
    /// let now = || began.elapsed().as_nanos() as u64;
    /// let ring = PerCpuRing::new(1 << 12);
    /// ring.write_at(now(), b"open").unwrap();
    /// ring.write_at(now(), b"close").unwrap();
    /// // Lanes are merged by the times.
    /// let mut reader = ring.reader()?;
    /// let mut records: Vec<_> = reader.drain().collect();
    /// records.sort_by_key(|record| record.time());
    /// assert_eq!(records[1].bytes(), b"close");
    /// # Ok::<(), corelocal::ring::ReaderExists>(())
    /// ```
    #[inline]
    pub fn write_at(&self, time: u64, bytes: &[u8]) -> Result<Lane, WriteError> {
        self.push(bytes, Some(time))
    }

    #[inline(always)]
    fn push(&self, bytes: &[u8], time: Option<u64>) -> Result<Lane, WriteError> {
        let len = bytes.len();
        if len > self.most {
            return Err(WriteError::TooLarge { len, most: self.most });
        }
        let record = record::pushed(bytes, len as u32, time);
        let entry = Entry(move || self.cpus);
        // SAFETY:
        // - the anchors and the bytes are the ring's, in every lane.
        // - the bytes are the caller's, and as many as the record says.
        match unsafe { self.lanes.push(entry, self.anchor0(), record) } {
            Outcome::Committed { lane, .. } => Ok(self.lane_of(lane as usize)),
            outcome => self.push_slow(matches!(outcome, Outcome::Busy), record),
        }
    }

    /// A record that has no room, or met another thread in its lane.
    #[cold]
    #[inline(never)]
    fn push_slow(&self, mut busy: bool, record: Pushed) -> Result<Lane, WriteError> {
        if busy {
            let spill = Atomic::on_lane(self.cpus);
            // SAFETY:
            // - as in `push`; atomics alone store to the spill lane.
            match unsafe { self.lanes.push(spill, self.anchor0(), record) } {
                Outcome::Committed { lane, .. } => return Ok(self.lane_of(lane as usize)),
                Outcome::Busy => {}
                _ => busy = false,
            }
        }
        self.anchors.at(field!(lanes::Lane, dropped)).inc();
        Err(if busy { WriteError::Busy } else { WriteError::Full })
    }

    /// The right to read, which one at a time has.
    ///
    /// # Errors
    ///
    /// [`ReaderExists`].
    ///
    /// ```
    /// use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(4096);
    /// let reader = ring.reader().unwrap();
    /// assert!(ring.reader().is_err());
    /// drop(reader);
    /// assert!(ring.reader().is_ok());
    /// ```
    pub fn reader(&self) -> Result<Reader<'_>, ReaderExists> {
        if self.lanes.begin_reading() { Ok(Reader::new(self)) } else { Err(ReaderExists) }
    }

    /// Each lane's counts, the spill lane's last. A moment ago, while threads are at work; `written`
    /// is never less than `read`.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(1 << 12);
    /// ring.write(b"event").unwrap();
    /// for (lane, counts) in ring.stats().filter(|(_, counts)| counts.written > 0) {
    ///     println!("lane {}: {} written, {} dropped", lane.index(), counts.written, counts.dropped);
    ///     assert_eq!((counts.written, counts.read, counts.dropped), (1, 0, 0));
    /// }
    /// ```
    pub fn stats(&self) -> impl Iterator<Item = (Lane, LaneStats)> + '_ {
        self.anchors.iter().map(|(lane, place)| {
            let read = self.lanes.read(lane.index());
            // Relaxed: a count. One that is older than what was read is no news.
            let index = place.anchor.word.load(crate::sync::Ordering::Relaxed);
            let unread = index.wrapping_sub(read as usize) & RECORDS;
            let is_old = unread > RECORDS / 2;
            let written = if is_old { read } else { read.wrapping_add(unread as u64) };
            (lane, LaneStats { written, read, dropped: place.dropped.load() })
        })
    }

    /// Records that were dropped, of all lanes.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(256);
    /// while ring.write(b"event").is_ok() {} // nobody reads
    /// assert_eq!(ring.dropped(), 1);        // so the newest one is lost, and that is known
    /// ```
    pub fn dropped(&self) -> u64 {
        self.anchors.at(field!(lanes::Lane, dropped)).sum()
    }

    /// Bytes a lane.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuRing};
    /// let ring = PerCpuRing::new(1 << 16);
    /// let most_memory = ring.capacity() * Area::global().lanes();
    /// assert_eq!(most_memory >> 16, Area::global().lanes());
    /// ```
    pub fn capacity(&self) -> usize {
        self.lanes.units() * UNIT
    }

    /// The most bytes that a record has: half of the capacity, or 4096, less 16.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(1 << 12);
    /// let message = "x".repeat(10_000);
    /// // Cut off rather than lost.
    /// let record = &message.as_bytes()[..message.len().min(ring.largest_record())];
    /// assert!(ring.write(record).is_ok());
    /// ```
    pub fn largest_record(&self) -> usize {
        self.most
    }

    pub(super) fn lanes(&self) -> &Lanes<impl Stride> {
        &self.lanes
    }

    /// Lanes, the spill lane included.
    pub(super) fn lane_count(&self) -> usize {
        self.cpus as usize + 1
    }

    #[inline(always)]
    pub(super) fn lane_of(&self, index: usize) -> Lane {
        if index < self.cpus as usize {
            Lane::of_cpu(CpuId::new(index as u32))
        } else {
            Lane::spill(self.cpus)
        }
    }

    /// A lane's anchor.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    pub(super) fn anchor(&self, index: usize) -> &Anchor {
        let lane = self.anchors.lane(self.lane_of(index));
        &lane.expect("as many lanes as are counted").anchor
    }

    /// Lane 0's anchor, with which a lane's memory begins.
    #[inline(always)]
    fn anchor0(&self) -> *mut Anchor {
        self.anchors.lane0().as_ptr().cast()
    }
}

impl fmt::Debug for PerCpuRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpuRing")
            .field("capacity", &self.capacity())
            .field("lanes", &self.lane_count())
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}
