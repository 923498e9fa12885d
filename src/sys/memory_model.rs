//! Mappings under loom: blocks of the heap that know whether they are mapped, and who used them.
//!
//! All threads of a model are fibres of one thread of the system, so a thread-local holds what
//! they share. A block that was unmapped stays allocated until [`finish`]: no later block has its
//! address, and a use of it is always found out.

use crate::sync::Watch;
use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use alloc::collections::BTreeMap;
use core::cell::RefCell;
use core::ptr::NonNull;

const PAGE: usize = 4096;

/// Bytes that are watched as one. Those who hand out less at a time see false alarms.
pub(crate) const PART: usize = 64;

struct Block {
    start: NonNull<u8>,
    len: usize,
    mapped: bool,
    /// Read by every use, written when the block is mapped and unmapped.
    whole: Watch,
    /// The parts that were used, by their first address.
    parts: BTreeMap<usize, Watch>,
}

std::thread_local! {
    /// By first address.
    static BLOCKS: RefCell<BTreeMap<usize, Block>> = const { RefCell::new(BTreeMap::new()) };
}

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len, PAGE).ok()
}

pub(super) fn page_size() -> usize {
    PAGE
}

pub(super) fn map(len: usize) -> Option<NonNull<u8>> {
    // SAFETY: `len` is a page at least.
    let start = NonNull::new(unsafe { alloc_zeroed(layout(len)?) })?;
    let (whole, parts) = (Watch::default(), BTreeMap::new());
    let block = Block { start, len, mapped: true, whole, parts };
    BLOCKS.with_borrow_mut(|blocks| blocks.insert(start.addr().get(), block));
    Some(start)
}

/// A block of the heap is given back whole or not at all.
///
/// # Safety
///
/// None: it does nothing.
pub(super) unsafe fn trim(
    first: NonNull<u8>,
    len: usize,
    _: usize,
    _: usize,
) -> (NonNull<u8>, usize) {
    (first, len)
}

/// # Safety
///
/// None: what is wrong with the call is found out here.
#[track_caller]
pub(super) unsafe fn unmap(start: NonNull<u8>, len: usize) {
    with_block(start.addr().get(), |block| {
        assert_eq!((block.start, block.len), (start, len), "unmapped in part");
        block.whole.write();
        block.parts.values().for_each(Watch::write);
        block.mapped = false;
    });
}

pub(super) fn advise_huge(_: NonNull<u8>, _: usize, _: bool) {}

#[track_caller]
fn with_block(addr: usize, f: impl FnOnce(&mut Block)) {
    BLOCKS.with_borrow_mut(|blocks| {
        let block = blocks.range_mut(..=addr).next_back().map(|(_, block)| block);
        match block.filter(|block| addr - block.start.addr().get() < block.len) {
            Some(block) if block.mapped => f(block),
            Some(_) => panic!("memory is used after it was unmapped"),
            None => panic!("memory is used that was never mapped"),
        }
    });
}

#[track_caller]
fn with_part(addr: usize, f: impl FnOnce(&Watch)) {
    with_block(addr, |block| {
        block.whole.read();
        f(block.parts.entry(addr / PART * PART).or_default());
    });
}

#[track_caller]
pub(crate) fn reads(at: NonNull<u8>) {
    with_part(at.addr().get(), Watch::read);
}

#[track_caller]
pub(crate) fn writes(at: NonNull<u8>) {
    with_part(at.addr().get(), Watch::write);
}

/// Uses `len` bytes at `addr` as their only owner.
#[track_caller]
pub(crate) fn touch(addr: usize, len: usize) {
    (addr..addr + len).step_by(PART).for_each(|addr| with_part(addr, Watch::write));
}

/// The end of a run: everything must be unmapped.
#[track_caller]
pub(crate) fn finish() {
    let blocks = BLOCKS.take();
    let leaked = blocks.values().filter(|block| block.mapped).count();
    assert_eq!(leaked, 0, "mappings leaked");
    for block in blocks.values() {
        if let Some(layout) = layout(block.len) {
            // SAFETY: `map` allocated it with this layout, and nobody uses it any more.
            unsafe { dealloc(block.start.as_ptr(), layout) };
        }
    }
}
