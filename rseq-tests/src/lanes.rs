//! Lanes in a mapping of their own: what the crate's areas do, without the areas.

use corelocal::sys::rseq::{Anchor, Ring, Stack, Stride};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// The distance between lanes: 64 KiB, a page and a line.
#[derive(Clone, Copy, Debug)]
pub struct Far;

impl Stride for Far {
    const BYTES: usize = 65536 + 4096 + 64;
}

/// Slots of a lane's stack.
pub const SLOTS: usize = 48;
/// Records of a lane's log.
pub const RECORDS: usize = 32;
/// Bytes of a record: two words and a tail of single bytes.
pub const RECORD: usize = 19;

/// Units of a lane's ring.
pub const UNITS: usize = 32;

/// One lane's copy of everything that the work uses.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Copy {
    /// Sums and tokens.
    pub word: AtomicU64,
    /// The same for the width that sections have to cut values to.
    pub byte: AtomicU8,
    /// A list of nodes; two, for a take-over.
    pub lists: [Anchor; 2],
    /// How many slots are filled.
    pub stack: Anchor,
    /// The slots.
    pub slots: [AtomicUsize; SLOTS],
    /// How many records were ever written.
    pub log: Anchor,
    /// The last of them.
    pub records: [AtomicU8; RECORDS * RECORD],
    /// The index of a ring.
    pub ring: Anchor,
    /// Its bytes, and as many for the largest record.
    pub units: [AtomicU64; 2 * UNITS],
}

/// As many copies as the process has lanes, the last one for threads without a CPU.
#[derive(Debug)]
pub struct Lanes {
    base: *mut Copy,
    bytes: usize,
    cpus: u32,
}

// SAFETY:
// - the mapping belongs to the value; the copies are atomics.
unsafe impl Send for Lanes {}
// SAFETY:
// - as above.
unsafe impl Sync for Lanes {}

impl Lanes {
    /// Zeroed lanes for CPUs `0..cpus`, and the spill lane.
    ///
    /// # Panics
    ///
    /// If the system refuses the memory.
    pub fn new(cpus: u32) -> Self {
        let bytes = (cpus as usize + 1) * Far::BYTES + size_of::<Copy>();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY:
        // - a new mapping, wherever the system likes.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED, "no memory for lanes");
        Self { base: base.cast(), bytes, cpus }
    }

    /// The number of CPU lanes, and of the spill lane.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Lane 0's copy: what operations take.
    pub fn lane0(&self) -> *mut Copy {
        self.base
    }

    /// One lane's copy.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    pub fn lane(&self, lane: u32) -> &Copy {
        assert!(lane <= self.cpus);
        // SAFETY:
        // - the lane is inside the mapping; all of a copy is atomics, and zero is a value.
        unsafe { &*self.base.wrapping_byte_add(lane as usize * Far::BYTES) }
    }

    /// Every lane, the spill lane last.
    pub fn iter(&self) -> impl Iterator<Item = &Copy> {
        (0..=self.cpus).map(|lane| self.lane(lane))
    }

    /// The wrapping sum of the words.
    pub fn sum(&self) -> u64 {
        self.iter().fold(0, |sum, copy| sum.wrapping_add(copy.word.load(Ordering::Relaxed)))
    }

    /// Lane 0's word.
    pub fn word(&self) -> *mut u64 {
        self.field(offset_of!(Copy, word))
    }

    /// Lane 0's byte.
    pub fn byte(&self) -> *mut u8 {
        self.field(offset_of!(Copy, byte))
    }

    /// Lane 0's list `which`.
    pub fn list(&self, which: usize) -> *mut Anchor {
        self.field(offset_of!(Copy, lists) + which * size_of::<Anchor>())
    }

    /// Lane 0's stack.
    pub fn stack(&self) -> Stack {
        Stack {
            anchor: self.field(offset_of!(Copy, stack)),
            slots: offset_of!(Copy, slots) - offset_of!(Copy, stack),
            capacity: SLOTS,
        }
    }

    /// Lane 0's log.
    pub fn log(&self) -> *mut Anchor {
        self.field(offset_of!(Copy, log))
    }

    /// Lane 0's ring.
    pub fn ring(&self) -> *mut Anchor {
        self.field(offset_of!(Copy, ring))
    }

    /// What a push reads: a ring a lane.
    pub fn rings(&self) -> Vec<Ring> {
        let units = |lane| self.field::<u8>(offset_of!(Copy, units) + lane * Far::BYTES);
        (0..=self.cpus as usize).map(|lane| Ring::new(units(lane), UNITS)).collect()
    }

    /// Distance from the log's anchor to the record of `index`.
    pub fn record(index: usize) -> usize {
        offset_of!(Copy, records) - offset_of!(Copy, log) + index % RECORDS * RECORD
    }

    fn field<T>(&self, offset: usize) -> *mut T {
        self.base.cast::<u8>().wrapping_add(offset).cast()
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // SAFETY:
        // - the mapping is this value's, and nobody borrows it any more.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}
