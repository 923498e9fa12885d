//! A region: lanes at equal strides in one mapping, led by a header.
//!
//! The header lies in a page before lane 0, so that an address in lane 0 leads to it by clearing
//! low bits (see [`Shape::base_align`]), and so that no lane shares a line or a page with it.

use super::area::Inner;
use super::pool::Record;
use super::stride::{DEAD_PAGE, Shape};
use crate::error::AllocError;
use crate::sys::memory::{self, Mapping};
use core::ptr::NonNull;

/// What stands before lane 0. Written once, before the region is published, and then only read.
#[derive(Debug)]
pub(super) struct Header {
    /// The area that owns the region.
    pub(super) area: NonNull<Inner>,
    /// The chunk's record; `None` in a mapping that serves one object.
    pub(super) record: Option<Record>,
    /// CPU lanes; the spill lane is one more.
    pub(super) cpus: u32,
    mapping: Mapping,
}

impl Header {
    /// Address space of the region, in bytes.
    pub(super) fn reserved(&self) -> usize {
        self.mapping.len
    }
}

/// A region's lane 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region(NonNull<u8>);

impl Region {
    /// Maps `cpus + 1` lanes of `shape`.
    ///
    /// # Errors
    ///
    /// [`AllocError::OutOfMemory`] where the system refuses, or the lanes exceed the address space.
    pub(super) fn map(area: &Inner, shape: Shape, lane_bytes: usize) -> Result<Self, AllocError> {
        let cpus = area.cpus();
        let overflow = AllocError::CapacityOverflow {
            size: lane_bytes,
            align: shape.base_align,
            lanes: cpus as usize + 1,
        };
        // `cpus` strides and one lane: nothing is dead behind the last one.
        let len = shape.stride.checked_mul(cpus as usize).and_then(|l| l.checked_add(lane_bytes));
        let len = len.filter(|&len| len <= isize::MAX as usize).ok_or(overflow)?;
        let mapping = memory::map(DEAD_PAGE, len, shape.base_align, area.config.huge_pages)?;
        let region = Self(mapping.base);
        let header = Header { area: NonNull::from(area), record: None, cpus, mapping };
        // SAFETY:
        // * the header's place is in the page before lane 0, which `map` provides;
        // * it is aligned, since lane 0 is aligned to a page;
        // * the region is not published yet, so nobody else looks.
        unsafe { region.header_ptr().as_ptr().write(header) };
        memory::writes(region.header_ptr().cast());
        Ok(region)
    }

    /// The region in whose lane 0 `addr` lies.
    ///
    /// # Safety
    ///
    /// `addr` lies in lane 0 of a living region of this shape (`base_align` bytes at most).
    #[inline]
    pub(super) unsafe fn of(addr: NonNull<u8>, shape: Shape) -> Self {
        let back = addr.addr().get() & (shape.base_align - 1);
        // SAFETY: lane 0 begins at a multiple of `base_align`, so `back` bytes before `addr` is
        // its first byte, in the same mapping.
        Self(unsafe { addr.sub(back) })
    }

    /// The region whose lane 0 begins at `lane0`, as [`Region::lane0`] gave it.
    #[inline]
    ///
    /// # Panics
    ///
    /// On null, which no region's lane 0 is.
    pub(super) fn from_lane0(lane0: *mut u8) -> Self {
        Self(NonNull::new(lane0).expect("a region begins somewhere"))
    }

    /// The first byte of lane 0.
    #[inline]
    pub(super) fn lane0(self) -> NonNull<u8> {
        self.0
    }

    #[inline]
    fn header_ptr(self) -> NonNull<Header> {
        // SAFETY: a page of the same mapping precedes lane 0.
        unsafe { self.0.sub(size_of::<Header>().next_multiple_of(64)) }.cast()
    }

    /// Names the record that the region stands behind.
    ///
    /// # Safety
    ///
    /// The region is alive, and nobody but the caller knows of it yet.
    pub(super) unsafe fn set_record(self, record: Record) {
        // SAFETY: the header was written by `map`, and nobody looks at it yet.
        unsafe { (*self.header_ptr().as_ptr()).record = Some(record) };
        memory::writes(self.header_ptr().cast());
    }

    /// The region's header.
    ///
    /// # Safety
    ///
    /// The region lives as long as `'a`.
    #[inline]
    pub(super) unsafe fn header<'a>(self) -> &'a Header {
        memory::reads(self.header_ptr().cast());
        // SAFETY: written by `map` before anybody could know of the region, never changed since,
        // and alive by the caller's promise.
        unsafe { self.header_ptr().as_ref() }
    }

    /// Gives the region back to the system.
    ///
    /// # Safety
    ///
    /// Nobody uses the region any more.
    pub(super) unsafe fn unmap(self) {
        // SAFETY: the region lives until the next statement.
        let mapping = unsafe { self.header() }.mapping;
        // SAFETY: the mapping is this region's, and passes to the system now.
        unsafe { memory::unmap(mapping.start, mapping.len) };
    }
}
