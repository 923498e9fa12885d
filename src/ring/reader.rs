//! [`Reader`] and [`Drain`]: records out of the rings, and their space back.

use super::lanes::{Place, RECORDS};
use super::per_cpu_ring::PerCpuRing;
use super::record::Record;
use alloc::vec::Vec;
use core::fmt;
use core::iter::FusedIterator;

/// The one reader of a ring, made by [`PerCpuRing::reader`]. Dropping it lets another one be made.
///
/// Records stay where they are while they are read. Their space is given back, and can be written
/// to again, when the reader is used the next time or dropped: the records that [`drain`](Self::drain)
/// yields borrow it until then.
///
/// ```
/// use corelocal::PerCpuRing;
///
/// let ring = PerCpuRing::new(1 << 16);
/// ring.write_at(2, b"two").unwrap();
/// ring.write_at(1, b"one").unwrap();
/// let mut reader = ring.reader().unwrap();
/// let mut records: Vec<_> = reader.drain().collect(); // nothing is copied
/// records.sort_by_key(|record| record.time());
/// assert_eq!(records[0].bytes(), b"one");
/// ```
///
/// In a child of `fork` there is no reader if another thread of the parent had one.
pub struct Reader<'a> {
    ring: &'a PerCpuRing,
    /// A lane: up to where records were yielded.
    yielded: Vec<Place>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(ring: &'a PerCpuRing) -> Self {
        let place = |lane| Place::at(ring.lanes().given_back(lane));
        Self { ring, yielded: (0..ring.lane_count()).map(place).collect() }
    }

    /// Every record of every lane that was written before its lane's turn, the spill lane last, each
    /// once: lane by lane, and within a lane in the order of writing.
    ///
    /// Gives back what was yielded before. What is not taken out of the iterator stays for the next
    /// one. Takes a load a lane and a few steps a record; waits for nobody.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(1 << 12);
    /// (0..3_u8).for_each(|event| drop(ring.write(&[event])));
    /// let mut reader = ring.reader()?;
    /// let first = reader.drain().next().map(|record| record.bytes().len()); // takes one,
    /// let others = reader.drain().count();                                  // and later the rest
    /// assert_eq!((first, others), (Some(1), 2));
    /// # Ok::<(), corelocal::ring::ReaderExists>(())
    /// ```
    #[must_use = "the records stay where they are"]
    pub fn drain(&mut self) -> Drain<'_> {
        self.give_back();
        Drain { ring: self.ring, lane: 0, yielded: &mut self.yielded }
    }

    /// Gives the space of all records back that were yielded. Where some were, that is one store a
    /// lane.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(256);
    /// while ring.write(b"event").is_ok() {}
    /// let mut reader = ring.reader()?;
    /// let read = reader.drain().count() as u64;
    /// // Before the reader sleeps: else the space stays taken until it is used again.
    /// reader.give_back();
    /// assert_eq!(ring.stats().map(|(_, lane)| lane.read).sum::<u64>(), read);
    /// assert!(ring.write(b"event").is_ok());
    /// # Ok::<(), corelocal::ring::ReaderExists>(())
    /// ```
    pub fn give_back(&mut self) {
        let lanes = self.ring.lanes();
        for (lane, place) in self.yielded.iter_mut().enumerate() {
            // A turn that was not taken to its end is taken anew.
            *place = Place::at(place.index);
            if place.index != lanes.given_back(lane) {
                lanes.give_back(lane, place.index);
            }
        }
    }

    /// Gives everything back that was written so far, unread: records that do not matter any more.
    /// Returns how many they were. Takes a few steps a lane.
    ///
    /// ```
    /// use corelocal::PerCpuRing;
    /// let ring = PerCpuRing::new(4096);
    /// ring.write(b"before").unwrap();
    /// let mut reader = ring.reader().unwrap();
    /// assert_eq!((reader.skip(), reader.drain().count()), (1, 0));
    /// ```
    pub fn skip(&mut self) -> usize {
        let mut skipped = 0;
        for (lane, place) in self.yielded.iter_mut().enumerate() {
            let end = self.ring.lanes().written(self.ring.anchor(lane));
            skipped += end.wrapping_sub(place.index) & RECORDS;
            *place = Place::at(end);
        }
        self.give_back();
        skipped
    }

    /// The ring that is read.
    ///
    /// ```
    /// # use corelocal::PerCpuRing;
    /// use corelocal::ring::Reader;
    ///
    /// /// Prints all that came, and what did not.
    /// fn print(reader: &mut Reader<'_>) -> (usize, u64) {
    ///     let records = reader.drain().inspect(|record| println!("{:?}", record.bytes())).count();
    ///     (records, reader.ring().dropped())
    /// }
    /// let ring = PerCpuRing::new(1 << 12);
    /// ring.write(b"event").unwrap();
    /// assert_eq!(print(&mut ring.reader()?), (1, 0));
    /// # Ok::<(), corelocal::ring::ReaderExists>(())
    /// ```
    pub fn ring(&self) -> &'a PerCpuRing {
        self.ring
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.give_back();
        self.ring.lanes().end_reading();
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("ring", &self.ring).finish_non_exhaustive()
    }
}

/// Records on their way out of a ring; see [`Reader::drain`].
///
/// ```
/// use corelocal::{PerCpuRing, ring::Drain};
///
/// fn bytes(records: Drain<'_>) -> usize {
///     records.map(|record| record.bytes().len()).sum()
/// }
/// let ring = PerCpuRing::new(1 << 12);
/// ring.write(b"one").unwrap();
/// ring.write(b"three").unwrap();
/// assert_eq!(bytes(ring.reader()?.drain()), 8);
/// # Ok::<(), corelocal::ring::ReaderExists>(())
/// ```
pub struct Drain<'r> {
    ring: &'r PerCpuRing,
    lane: usize,
    yielded: &'r mut [Place],
}

impl<'r> Iterator for Drain<'r> {
    type Item = Record<'r>;

    fn next(&mut self) -> Option<Record<'r>> {
        let ring = self.ring;
        while let Some(place) = self.yielded.get_mut(self.lane) {
            // SAFETY:
            // - whoever has the reader is the one reader; it is borrowed for `'r`, and gives nothing
            //   back meanwhile.
            match unsafe { ring.lanes().next(ring.anchor(self.lane), self.lane, place) } {
                Some((header, bytes)) => {
                    return Some(Record::new(header, bytes, ring.lane_of(self.lane)));
                }
                None => self.lane += 1,
            }
        }
        None
    }
}

impl FusedIterator for Drain<'_> {}

impl fmt::Debug for Drain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("lane", &self.lane).finish_non_exhaustive()
    }
}
