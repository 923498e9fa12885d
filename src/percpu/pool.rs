//! A pool: the chunks of one stride class, searched in address order and grown without a lock.
//!
//! Records lie in groups of 64, groups in segments of doubling size, each mapped when it is first
//! needed and never freed while the pool lives. The bounds of a group lie together, and one word
//! bounds the whole group, so that a search passes 64 full chunks with one load.

use super::area::Inner;
use super::bounds::{Bounds, LINE_ALIGN};
use super::chunk::{Chunk, Claimed, GRANULES, Run};
use super::region::Region;
use super::segment::Segments;
use super::stride::Shape;
use crate::error::AllocError;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use core::ptr::NonNull;

/// Records of a group.
pub(super) const GROUP: usize = if cfg!(corelocal_loom) { 2 } else { 64 };

/// Bytes that describe a chunk.
pub(super) const RECORD_BYTES: usize = size_of::<Group>() / GROUP;

/// Some records, their bounds, and one bound for all. All zero bytes are a group of vacant records.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Group {
    bounds: [Bounds; GROUP],
    chunks: [Chunk; GROUP],
    /// No chunk of the group has a longer free run than this, in granules (a hint): any run, and
    /// one that begins on a line.
    longest: [AtomicU32; 2],
    /// A bit for each record that is not vacant (a hint).
    used: AtomicU64,
}

impl Group {
    /// A group of vacant records, where zeroed memory will not do.
    #[cfg(corelocal_loom)]
    pub(super) fn vacant() -> Self {
        Self {
            bounds: core::array::from_fn(|_| Bounds::new()),
            chunks: core::array::from_fn(|_| Chunk::vacant()),
            longest: [AtomicU32::new(0), AtomicU32::new(0)],
            used: AtomicU64::new(0),
        }
    }

    /// Whether no record has a region.
    #[cfg(corelocal_loom)]
    pub(super) fn is_vacant(&self) -> bool {
        self.chunks.iter().all(|chunk| !chunk.is_ready())
    }

    /// Claims a run in the first chunk that has one.
    fn claim(&self, run: Run, emptied: impl Fn(Record)) -> Option<(Record, Claimed)> {
        let hint = &self.longest[usize::from(run.align >= LINE_ALIGN)];
        // Relaxed, both: a hint.
        let seen = hint.load(Ordering::Relaxed);
        if (seen as usize) < run.len {
            return None;
        }
        let mut longest = 0;
        for (index, chunk) in self.chunks.iter().enumerate() {
            let bounds = &self.bounds[index];
            if bounds.longest(run.align) >= run.len && chunk.reserve() {
                let record = Record::new(self, index);
                match chunk.claim(bounds, run) {
                    Some(claimed) => return Some((record, claimed)),
                    None if chunk.unreserve() => emptied(record),
                    None => {}
                }
            }
            longest = longest.max(bounds.longest(run.align) as u32);
        }
        // A free that raised the word meanwhile makes this fail; one that raised it to what it
        // was is lost until the next: `Pool::claim` looks past the word before it grows.
        let _ = hint.compare_exchange(seen, longest, Ordering::Relaxed, Ordering::Relaxed);
        None
    }

    /// A chunk of the group has a free run of `longest` granules, or may have.
    fn raise(&self, longest: usize) {
        for hint in &self.longest {
            // Relaxed, both: a hint.
            if (hint.load(Ordering::Relaxed) as usize) < longest {
                hint.fetch_max(longest as u32, Ordering::Relaxed);
            }
        }
    }
}

/// Which chunk: a group, and in the low bits of its address the index there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(super) struct Record(NonNull<Group>);

const _: () = assert!(GROUP <= align_of::<Group>(), "an index fits the low bits of a group");

impl Record {
    fn new(group: &Group, index: usize) -> Self {
        Self(NonNull::from(group).map_addr(|addr| addr | index))
    }

    /// One word, which [`Record::from_raw`] turns back.
    pub(super) fn into_raw(self) -> *mut Group {
        self.0.as_ptr()
    }

    /// The record that a word stands for; `None` for null.
    pub(super) fn from_raw(raw: *mut Group) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    fn index(self) -> usize {
        self.0.addr().get() % align_of::<Group>()
    }

    /// # Safety
    ///
    /// The pool that the record belongs to lives as long as `'a`.
    unsafe fn group<'a>(self) -> &'a Group {
        let group = self.0.as_ptr().map_addr(|addr| addr - addr % align_of::<Group>());
        // SAFETY: `new` took the pointer from a reference and added the index, which is taken off
        // again here; groups live as long as their pool.
        unsafe { &*group }
    }

    /// The record's chunk.
    ///
    /// # Safety
    ///
    /// The pool that the record belongs to lives as long as `'a`.
    pub(super) unsafe fn chunk<'a>(self) -> &'a Chunk {
        // SAFETY: passed on to the caller.
        &unsafe { self.group() }.chunks[self.index()]
    }

    /// Frees a run, and its reservation. `true`: the chunk is empty.
    ///
    /// # Safety
    ///
    /// * The pool that the record belongs to is alive.
    /// * The caller owns the run, and no longer uses it.
    pub(super) unsafe fn free(self, start: usize, len: usize) -> bool {
        // SAFETY: passed on to the caller.
        let group: &Group = unsafe { self.group() };
        let bounds = &group.bounds[self.index()];
        group.chunks[self.index()].free(bounds, start, len, |longest| group.raise(longest))
    }

    /// Takes the region of an empty chunk for the caller to unmap, or nothing if it is in use.
    /// The record can be used again at once: the region is no longer behind it.
    ///
    /// # Safety
    ///
    /// The pool that the record belongs to is alive.
    pub(super) unsafe fn retire(self) -> Option<Region> {
        // SAFETY: passed on to the caller.
        let group: &Group = unsafe { self.group() };
        let chunk = &group.chunks[self.index()];
        let region = chunk.retire()?;
        group.bounds[self.index()].reset(0);
        chunk.vacate();
        // Relaxed: a hint.
        group.used.fetch_and(!(1 << self.index()), Ordering::Relaxed);
        Some(region)
    }
}

/// The chunks of one class.
#[derive(Debug)]
pub(super) struct Pool {
    shape: Shape,
    lane_bytes: usize,
    segments: Segments,
}

impl Pool {
    crate::sync::const_unless_loom! {
        /// A pool without chunks, with lanes of `lane_bytes`.
        pub(super) const fn new(shape: Shape, lane_bytes: usize) -> Self {
            Self { shape, lane_bytes, segments: Segments::new() }
        }
    }

    /// Bytes of a granule.
    pub(super) fn granule(&self) -> usize {
        self.lane_bytes / GRANULES
    }

    /// Claims a run of granules, growing the pool where no chunk has one.
    ///
    /// `emptied` is told of a chunk whose last reservation went with a search that failed.
    ///
    /// # Errors
    ///
    /// Those of [`Inner::map`].
    pub(super) fn claim(
        &self,
        area: &Inner,
        run: Run,
        emptied: impl Fn(Record),
    ) -> Result<(Region, usize, bool), AllocError> {
        let place = |(record, claimed): (Record, Claimed)| {
            // SAFETY: the pool is borrowed.
            let region = unsafe { record.chunk() }.region();
            (region, claimed.start * self.granule(), claimed.fresh)
        };
        let search = || self.segments.iter().find_map(|group| group.claim(run, &emptied));
        loop {
            if let Some(found) = search() {
                return Ok(place(found));
            }
            // Before growing, look once past the groups' hints.
            self.segments.iter().for_each(|group| group.raise(GRANULES));
            if let Some(found) = search() {
                return Ok(place(found));
            }
            let region = match area.map(self.shape, self.lane_bytes) {
                Ok(region) => region,
                // Somebody else may have taken what there was, and have room to spare now.
                Err(error) => return search().map(place).ok_or(error),
            };
            // Somebody else may have grown the pool meanwhile: the loser unmaps.
            if let Some(found) = search() {
                // SAFETY: nobody else knows of the region.
                unsafe { area.unmap(region) };
                return Ok(place(found));
            }
            let record = match self.publish(region) {
                Ok(record) => record,
                Err(error) => {
                    // SAFETY: nobody else knows of the region.
                    unsafe { area.unmap(region) };
                    return Err(error);
                }
            };
            // SAFETY: the pool is borrowed.
            let group: &Group = unsafe { record.group() };
            let index = record.index();
            match group.chunks[index].claim(&group.bounds[index], run) {
                Some(claimed) => return Ok(place((record, claimed))),
                // Others filled the new chunk first: they made progress, and we try again.
                None if group.chunks[index].unreserve() => emptied(record),
                None => {}
            }
        }
    }

    /// Puts a new region behind the first vacant record, with a reservation for the caller.
    fn publish(&self, region: Region) -> Result<Record, AllocError> {
        let mut at = 0;
        loop {
            let group = self.segments.group(at)?;
            // Relaxed: a hint; a vacant record that it hides is found when it is next given back.
            let mut vacant = !group.used.load(Ordering::Relaxed);
            while let Some(chunk) = group.chunks.get(vacant.trailing_zeros() as usize) {
                let index = vacant.trailing_zeros() as usize;
                let record = Record::new(group, index);
                let prepare = || {
                    group.bounds[index].reset(GRANULES);
                    // SAFETY: the region is not published before `prepare` returns.
                    unsafe { region.set_record(record) };
                };
                if chunk.publish(region, prepare) {
                    // Relaxed: as above.
                    group.used.fetch_or(1 << index, Ordering::Relaxed);
                    group.raise(GRANULES);
                    return Ok(record);
                }
                vacant &= vacant - 1;
            }
            at += 1;
        }
    }

    /// Calls `f` with every chunk that has a region, for statistics and for the end of the pool.
    pub(super) fn for_each(&self, mut f: impl FnMut(Record, &Chunk)) {
        for group in self.segments.iter() {
            for (index, chunk) in group.chunks.iter().enumerate() {
                if chunk.is_ready() {
                    f(Record::new(group, index), chunk);
                }
            }
        }
    }
}
