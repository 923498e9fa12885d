//! Where things lie in the modelled memory: the same places in every run.
//!
//! A process gets other addresses each time. What a layout decides is kept: the offset of a field
//! in its object, of an object in its lane, of a lane in its chunk, the order in which chunks are
//! mapped. What the system or the heap decides is replaced by a rule:
//!
//! * chunks of per-CPU memory follow each other, and begin at multiples of 64 KiB, as they do;
//! * heap objects lie as in the kernel's slabs: each takes a power of two, those of one size follow
//!   each other in the order of allocation, or in a shuffled one; there is one memory node;
//! * task groups follow each other, and so do the entries of their table;
//! * pages ([`Pages`]) get frames at random from a memory eight times as large, as on a machine
//!   that has been up for long; or frames that follow each other, as within a huge page.

use crate::layout::{Cfs, Layout, Order, Piece};
use crate::model::{Model, RqOf, Tg};
use crate::rng::Rng;
use crate::structs::Kernel;
use core::ptr;
use corelocal::{CpuId, PerCpuRef};
use crossbeam_epoch as epoch;
use std::collections::BTreeMap;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Lane 0 of a chunk begins at a multiple of this, and all of it lies below the next one.
const LANE: usize = 64 << 10;
/// Frames of the modelled memory for each page that is used.
const FRAMES_A_PAGE: u64 = 8;

/// Which frames the pages have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pages {
    /// Any frames.
    Scattered,
    /// Frames in a row.
    Contiguous,
}

impl Pages {
    /// The word in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scattered => "scattered",
            Self::Contiguous => "contiguous",
        }
    }
}

/// A piece of memory and where it lies in the modelled one.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: usize,
    bytes: usize,
    at: u64,
    /// Whether it is state of a group on a CPU, not what leads there.
    is_state: bool,
}

/// The modelled place of everything that a walk can use.
#[derive(Debug)]
pub(super) struct Places {
    ranges: Vec<Range>,
    /// The end of what is taken.
    end: u64,
}

/// An object in per-CPU memory: CPU 0's copy.
struct PerCpuObject {
    start: usize,
    bytes: usize,
    is_state: bool,
}

impl Places {
    /// Places everything that belongs to `model`.
    pub(super) fn new<L: Layout>(model: &Model<L>, order: Order) -> Self {
        let mut places = Self { ranges: Vec::new(), end: 0 };
        let guard = &epoch::pin();
        let groups: Vec<&Tg<L>> = model.groups().iter(guard).collect();
        places.row(size_of::<*const ()>(), [(model.groups().memory(), false)]);
        let group = |tg: &&Tg<L>| ((ptr::from_ref(*tg).addr(), size_of::<Tg<L>>()), false);
        places.row(size_of::<Tg<L>>(), groups.iter().map(group));

        // The root's queue lies in the run queue, before the rest of it.
        let rq = ptr::from_ref(model.rq(CpuId::new(0))).addr();
        let (all, queue) = (size_of::<RqOf<L>>(), size_of::<Cfs<L>>());
        let mut per_cpu = vec![
            PerCpuObject { start: rq, bytes: queue, is_state: true },
            PerCpuObject { start: rq + queue, bytes: all - queue, is_state: false },
        ];
        let mut heap = Vec::new();
        for piece in groups.iter().flat_map(|tg| L::pieces(tg)) {
            match piece {
                Piece::Array(start, bytes) => heap.push(((start, bytes), false)),
                Piece::Object(start, bytes) => heap.push(((start, bytes), true)),
                Piece::PerCpu(start, bytes) => {
                    per_cpu.push(PerCpuObject { start, bytes, is_state: true });
                }
            }
        }
        order.apply(&mut heap);
        let mut slabs: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for piece in heap {
            slabs.entry(piece.0.1.next_power_of_two()).or_default().push(piece);
        }
        for (step, pieces) in slabs {
            places.row(step, pieces);
        }
        let stride = PerCpuRef::<<L::K as Kernel>::State>::STRIDE;
        places.lanes(&per_cpu, stride, model.cpus().count());
        places.ranges.sort_unstable_by_key(|range| range.start);
        places
    }

    /// Pieces that follow each other at steps of `step` bytes, or of their size if that is more.
    fn row(&mut self, step: usize, pieces: impl IntoIterator<Item = ((usize, usize), bool)>) {
        for ((start, bytes), is_state) in pieces {
            self.ranges.push(Range { start, bytes, at: self.end, is_state });
            self.end += bytes.max(step) as u64;
        }
        self.end = self.end.next_multiple_of(LANE as u64);
    }

    /// The CPUs' copies of per-CPU objects, chunk by chunk in the order in which they are met.
    fn lanes(&mut self, objects: &[PerCpuObject], stride: usize, cpus: usize) {
        // With the spill lane, and room for a header.
        let chunk_bytes = (LANE + (cpus + 1) * stride).next_multiple_of(LANE) as u64;
        let mut chunks: BTreeMap<usize, u64> = BTreeMap::new();
        for object in objects {
            let (chunk, offset) = (object.start / LANE, object.start % LANE);
            let end = &mut self.end;
            let base = *chunks.entry(chunk).or_insert_with(|| {
                *end += chunk_bytes;
                *end - chunk_bytes
            });
            for cpu in 0..cpus {
                self.ranges.push(Range {
                    start: object.start + cpu * stride,
                    bytes: object.bytes,
                    at: base + (offset + cpu * stride) as u64,
                    is_state: object.is_state,
                });
            }
        }
    }

    /// The modelled address of a byte, and whether it is a group's state.
    ///
    /// # Panics
    ///
    /// If the byte belongs to nothing that was placed.
    pub(super) fn of(&self, address: usize) -> (u64, bool) {
        let after = self.ranges.partition_point(|range| range.start <= address);
        let range = after.checked_sub(1).map(|at| self.ranges[at]);
        let range = range.filter(|range| address - range.start < range.bytes);
        let range = range.expect("a walk uses groups, run queues and what they refer to");
        (range.at + (address - range.start) as u64, range.is_state)
    }

    /// Bytes of the modelled memory that are taken, gaps included.
    pub(super) fn bytes(&self) -> u64 {
        self.end
    }
}

/// The frames of the modelled memory's pages.
#[derive(Debug)]
pub(super) struct Frames(Vec<u32>);

impl Frames {
    /// Frames for `bytes` bytes.
    pub(super) fn new(pages: Pages, bytes: u64, seed: u64) -> Self {
        let count = bytes.div_ceil(PAGE);
        let memory = match pages {
            Pages::Scattered => count * FRAMES_A_PAGE,
            Pages::Contiguous => count,
        };
        let memory = u32::try_from(memory).expect("less than 2 TiB of state");
        let mut frames: Vec<u32> = (0..memory).collect();
        if pages == Pages::Scattered {
            Rng::new(seed).shuffle(&mut frames);
        }
        frames.truncate(count as usize);
        Self(frames)
    }

    /// Where a byte of a page lies in its frame.
    pub(super) fn of(&self, address: u64) -> u64 {
        u64::from(self.0[(address / PAGE) as usize]) * PAGE + address % PAGE
    }
}
