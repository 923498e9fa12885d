//! The rings of all lanes: where records go, and who reads them.
//!
//! Written over the contract of `sys::rseq`, whoever meets it: sections and the spill lane's
//! atomics (`Entry`), or the model of loom.

use crate::percpu::PerCpuCell;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::sys::rseq::{
    Anchor, Anchored, HEADER, HERE, Outcome, Pushed, RECORD_BITS, Ring, Stride,
};
use alloc::boxed::Box;
use core::marker::PhantomData;

/// What a CPU stores for its ring, apart from the records. All zero is an empty ring.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Lane {
    /// The index up to which records are written, and the lock that stands for the section.
    pub(super) anchor: Anchor,
    /// Records for which there was no room.
    pub(super) dropped: PerCpuCell<u64>,
}

impl Default for Lane {
    fn default() -> Self {
        Self { anchor: Anchor::new(0), dropped: PerCpuCell::new(0) }
    }
}

// SAFETY:
// - atomic integers, for which zero is a value: an empty ring, unlocked.
#[cfg(not(corelocal_loom))]
unsafe impl bytemuck::Zeroable for Lane {}

/// The lower half of an index.
pub(super) const RECORDS: usize = (1 << RECORD_BITS) - 1;

/// Where a reader is in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Behind the last record that was yielded.
    pub(super) index: usize,
    /// Up to where this turn goes; not known before it began.
    end: Option<usize>,
}

impl Place {
    pub(super) const fn at(index: usize) -> Self {
        Self { index, end: None }
    }
}

/// Rings in lanes that somebody else owns.
#[derive(Debug)]
pub(crate) struct Lanes<S> {
    /// A lane: what pushes read.
    rings: Box<[Ring]>,
    /// Records read, a lane. Only the reader adds to them.
    read: Box<[AtomicU64]>,
    /// 1 while there is a reader.
    reading: AtomicUsize,
    _stride: PhantomData<fn() -> S>,
}

// SAFETY:
// - the raw pointers lead to the bytes of the lanes, which sections write and one reader reads.
unsafe impl<S> Send for Lanes<S> {}
// SAFETY:
// - as above.
unsafe impl<S> Sync for Lanes<S> {}

impl<S: Stride> Lanes<S> {
    /// Empty rings of `units` units in each of `lanes` lanes, whose bytes lie at `bytes`, `stride`
    /// apart.
    pub(crate) fn new(bytes: *mut u8, stride: usize, units: usize, lanes: usize) -> Self {
        let ring = |lane| Ring::new(bytes.wrapping_byte_add(lane * stride), units);
        let rings = (0..lanes).map(ring).collect();
        let read = (0..lanes).map(|_| AtomicU64::new(0)).collect();
        Self { rings, read, reading: AtomicUsize::new(0), _stride: PhantomData }
    }

    /// Pushes a record into a lane's ring, if there is room.
    ///
    /// # Safety
    ///
    /// * An anchor lies at `anchor` in each lane that `on` acts on, `S::BYTES` apart, and the bytes
    ///   that `new` was told of; only this type uses either.
    /// * `record.from` is readable for its length; its step was made for that.
    #[inline(always)]
    pub(crate) unsafe fn push<C: Anchored>(
        &self,
        on: C,
        anchor: *mut Anchor,
        record: Pushed,
    ) -> Outcome<usize> {
        // Release [E60]: pairs with the Acquire in `written`.
        let form = HERE.release();
        // SAFETY:
        // - the lanes are as the caller promised, and `rings` describes them.
        unsafe { on.ring_push::<S, _>(anchor, self.rings.as_ptr(), record, form) }
    }

    /// Units of a lane's ring.
    #[cfg(not(corelocal_loom))]
    pub(super) fn units(&self) -> usize {
        self.rings[0].mask + 1
    }

    /// The index up to which the records of a lane may be read.
    pub(super) fn written(&self, anchor: &Anchor) -> usize {
        // Acquire [E60]: pairs with the commit in `push`: the records' bytes, and what their
        // writers did before.
        anchor.word.load(Ordering::Acquire)
    }

    /// The index up to which lane number `lane` was given back.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    pub(super) fn given_back(&self, lane: usize) -> usize {
        let ring = &self.rings[lane];
        // Relaxed: the reader stores it itself, or came after whoever did [E62].
        ring.given_back(ring.limit.load(Ordering::Relaxed))
    }

    /// Gives the records up to `index` back; the caller is the reader.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    pub(super) fn give_back(&self, lane: usize, index: usize) {
        let records = index.wrapping_sub(self.given_back(lane)) & RECORDS;
        let (ring, read) = (&self.rings[lane], &self.read[lane]);
        // Relaxed, both: a count, which one thread at a time stores.
        read.store(read.load(Ordering::Relaxed).wrapping_add(records as u64), Ordering::Relaxed);
        // Release [E61]: pairs with the Acquire in a push: records are read before they are
        // written over.
        ring.limit.store(ring.limit_behind(index), Ordering::Release);
    }

    /// Records that were read and given back.
    #[cfg(not(corelocal_loom))]
    pub(super) fn read(&self, lane: usize) -> u64 {
        // Relaxed: a count.
        self.read[lane].load(Ordering::Relaxed)
    }

    /// The next record of lane number `lane`, if there is one: its header and its bytes. `at` is
    /// where a reader is in the lane, and moves on.
    ///
    /// # Safety
    ///
    /// * The caller is the reader; `at` came from [`given_back`](Self::given_back) and this function
    ///   alone, and `anchor` is the lane's.
    /// * The record is not given back during `'r`.
    pub(super) unsafe fn next<'r>(
        &self,
        anchor: &Anchor,
        lane: usize,
        at: &mut Place,
    ) -> Option<([u64; 2], &'r [u8])> {
        let end = *at.end.get_or_insert_with(|| self.written(anchor));
        if at.index == end {
            at.end = None;
            return None;
        }
        let place = self.rings[lane].place(at.index).cast_const();
        // SAFETY:
        // - records lie one behind the other, each led by its header, up to the index that was seen.
        let header = unsafe { place.cast::<[u64; 2]>().read() };
        let len = header[0] as u32;
        #[cfg(corelocal_loom)]
        crate::sys::memory::touch(place.addr(), HEADER + len as usize);
        // SAFETY:
        // - the bytes follow; nobody writes there until they are given back.
        let bytes =
            unsafe { core::slice::from_raw_parts(place.wrapping_add(HEADER), len as usize) };
        at.index = at.index.wrapping_add(Pushed::new(bytes.as_ptr(), len, [0, 0]).step);
        Some((header, bytes))
    }

    /// Takes the right to read; whether nobody else has it.
    pub(super) fn begin_reading(&self) -> bool {
        // Acquire [E62]: pairs with the Release in `end_reading`: what the last reader gave back.
        // Relaxed on failure: nothing is looked at.
        self.reading.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives the right to read back; the caller has it.
    pub(super) fn end_reading(&self) {
        // Release [E62]: pairs with the Acquire in `begin_reading`.
        self.reading.store(0, Ordering::Release);
    }
}
