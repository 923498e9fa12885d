//! Where things lie in the modelled machine: as the kernel's allocators would have put them.
//!
//! * Heap objects come from slabs of 32 KiB, one kind for each power of two and memory node, in the
//!   order in which groups are created; a new slab hands out its objects by address or in a random
//!   order. A CPU's objects come from its node, arrays and task groups from the first.
//! * Copies of per-CPU objects lie where the area put them, chunk behind chunk.
//! * A slab is 32 KiB in a row, anywhere in memory; the pages of per-CPU memory are anywhere too
//!   ([`Pages::Scattered`]), or all of that follows each other ([`Pages::Contiguous`]).
//!
//! The model's table of groups, and what else it has instead of pointers, lies nowhere: the kernel
//! has no such thing.

use super::params::FreeList;
use crate::layout::{Cfs, Layout, Piece};
use crate::model::{Model, RqOf, Tg};
use crate::rng::Rng;
use crate::structs::Kernel;
use crate::trace::Pages;
use core::ptr;
use corelocal::{CpuId, PerCpuRef};
use crossbeam_epoch as epoch;
use std::collections::BTreeMap;

const PAGE: u64 = 4096;
const SLAB: u64 = 32 << 10;
/// Lane 0 of a chunk begins at a multiple of this, and all of it lies below the next one.
const LANE: usize = 64 << 10;
/// Ranges that are remembered.
const MET: usize = 1 << 16;
/// Memory there is for each byte that is used, where pages lie anywhere.
const SPARE: u64 = 8;

/// A piece of memory and its address in the modelled one, before that is cut into frames.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: usize,
    bytes: usize,
    /// None: it costs nothing.
    at: Option<u64>,
}

/// The modelled place of everything that a step can use.
#[derive(Debug)]
pub(super) struct Memory {
    ranges: Vec<Range>,
    end: u64,
    /// The frame of each page.
    frames: Vec<u32>,
    /// Which range was met last, by some bits of the address.
    met: Vec<u32>,
}

/// How memory is given out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    pub(super) nodes: u32,
    pub(super) free_list: FreeList,
    pub(super) pages: Pages,
    pub(super) seed: u64,
}

/// What a slab is for.
type Kind = (Class, u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    Bytes(usize),
    Groups,
}

/// Slabs that are being used up.
struct Slabs {
    habits: Habits,
    rng: Rng,
    free: BTreeMap<Kind, Vec<u64>>,
    end: u64,
}

impl Slabs {
    fn take(&mut self, kind: Kind, step: usize) -> u64 {
        let free = self.free.entry(kind).or_default();
        if let Some(at) = free.pop() {
            return at;
        }
        let slab = (step as u64).next_multiple_of(SLAB);
        // Backwards, because the last one is taken first.
        free.extend((0..slab / step as u64).rev().map(|i| self.end + i * step as u64));
        self.end += slab;
        if self.habits.free_list == FreeList::Random {
            self.rng.shuffle(free);
        }
        free.pop().expect("a slab has room for one")
    }
}

impl Memory {
    /// Places everything that belongs to `model`.
    pub(super) fn new<L: Layout>(model: &Model<L>, habits: Habits) -> Self {
        let guard = &epoch::pin();
        let groups: Vec<&Tg<L>> = model.groups().iter(guard).collect();
        let cpus = model.cpus().count();
        let mut slabs = Slabs { habits, rng: Rng::new(habits.seed), free: BTreeMap::new(), end: 0 };
        let mut ranges = Vec::new();
        let mut lanes = Vec::new();
        // The root's queue lies in the run queue.
        lanes.push((ptr::from_ref(model.rq(CpuId::new(0))).addr(), size_of::<RqOf<L>>()));
        const { assert!(size_of::<RqOf<L>>() >= size_of::<Cfs<L>>()) };
        for tg in &groups {
            let bytes = size_of::<Tg<L>>();
            let at = slabs.take((Class::Groups, 0), bytes);
            ranges.push(Range { start: ptr::from_ref(*tg).addr(), bytes, at: Some(at) });
            let pieces = L::pieces(tg);
            let objects = pieces.iter().filter(|p| matches!(p, Piece::Object(..))).count();
            let mut met = 0;
            for piece in pieces {
                let (start, bytes, node) = match piece {
                    Piece::PerCpu(start, bytes) => {
                        lanes.push((start, bytes));
                        continue;
                    }
                    Piece::Array(start, bytes) => (start, bytes, 0),
                    Piece::Object(start, bytes) => {
                        // As many of each CPU, CPU by CPU.
                        let cpu = met * cpus / objects;
                        met += 1;
                        (start, bytes, cpu * habits.nodes as usize / cpus)
                    }
                };
                let class = bytes.next_power_of_two().max(8);
                let at = slabs.take((Class::Bytes(class), node as u32), class);
                ranges.push(Range { start, bytes, at: Some(at) });
            }
        }
        let mut memory = Self { ranges, end: slabs.end, frames: Vec::new(), met: vec![0; MET] };
        let (start, bytes) = model.groups().memory();
        memory.ranges.push(Range { start, bytes, at: None });
        memory.end = memory.end.next_multiple_of(LANE as u64);
        let slabs_end = memory.end;
        memory.lanes(&lanes, PerCpuRef::<<L::K as Kernel>::State>::STRIDE, cpus);
        memory.ranges.sort_unstable_by_key(|range| range.start);
        memory.frames = frames(slabs_end, memory.end, habits);
        memory
    }

    /// The CPUs' copies of per-CPU objects, chunk by chunk in the order in which they are met.
    fn lanes(&mut self, objects: &[(usize, usize)], stride: usize, cpus: usize) {
        // With the spill lane, and room for a header.
        let chunk_bytes = (LANE + (cpus + 1) * stride).next_multiple_of(LANE) as u64;
        let mut chunks: BTreeMap<usize, u64> = BTreeMap::new();
        for &(start, bytes) in objects {
            let (chunk, offset) = (start / LANE, start % LANE);
            let end = &mut self.end;
            let base = *chunks.entry(chunk).or_insert_with(|| {
                *end += chunk_bytes;
                *end - chunk_bytes
            });
            self.ranges.extend((0..cpus).map(|cpu| Range {
                start: start + cpu * stride,
                bytes,
                at: Some(base + (offset + cpu * stride) as u64),
            }));
        }
    }

    /// The physical address of a byte; none if using it costs nothing in the kernel.
    ///
    /// # Panics
    ///
    /// If the byte belongs to nothing that was placed.
    pub(super) fn of(&mut self, address: usize) -> Option<u64> {
        let inside = |range: &Range| address.wrapping_sub(range.start) < range.bytes;
        let met = &mut self.met[address / 512 % MET];
        let range = match self.ranges[*met as usize] {
            range if inside(&range) => range,
            _ => {
                let after = self.ranges.partition_point(|range| range.start <= address);
                let at = after.checked_sub(1).expect("a step uses what was placed");
                *met = u32::try_from(at).expect("fewer than 2^32 pieces");
                self.ranges[at]
            }
        };
        assert!(inside(&range), "a step uses groups, run queues and what they refer to");
        let at = range.at? + (address - range.start) as u64;
        Some(u64::from(self.frames[(at / PAGE) as usize]) * PAGE + at % PAGE)
    }

    /// Whether two pieces share a byte, in the addresses or in the frames.
    #[cfg(test)]
    pub(super) fn overlaps(&self) -> bool {
        let mut placed: Vec<(u64, u64)> =
            self.ranges.iter().filter_map(|r| Some((r.at?, r.at? + r.bytes as u64))).collect();
        placed.sort_unstable();
        let mut frames = self.frames.clone();
        frames.sort_unstable();
        frames.dedup();
        placed.windows(2).any(|pair| pair[0].1 > pair[1].0) || frames.len() != self.frames.len()
    }
}

/// Frames for the pages: slabs keep theirs together.
fn frames(slabs_end: u64, end: u64, habits: Habits) -> Vec<u32> {
    let pages = end.div_ceil(PAGE);
    if habits.pages == Pages::Contiguous {
        return (0..pages as u32).collect();
    }
    const PAGES: u32 = (SLAB / PAGE) as u32;
    let blocks = (pages.div_ceil(u64::from(PAGES)) * SPARE) as u32;
    let mut rng = Rng::new(habits.seed ^ 0x5ca7);
    let mut order: Vec<u32> = (0..blocks).collect();
    rng.shuffle(&mut order);
    let in_slabs = (slabs_end / SLAB) as usize;
    let frames_of = |block: &u32| (0..PAGES).map(move |i| block * PAGES + i).collect::<Vec<_>>();
    let mut frames: Vec<u32> = order[..in_slabs].iter().flat_map(frames_of).collect();
    let mut others: Vec<u32> = order[in_slabs..].iter().flat_map(frames_of).collect();
    rng.shuffle(&mut others);
    frames.extend(others);
    frames.truncate(pages as usize);
    frames
}
