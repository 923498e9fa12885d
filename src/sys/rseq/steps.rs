//! What lists, stacks and copies do between the load of the anchor's word and the commit,
//! written in Rust for the implementations that are not sections.
#![allow(unsafe_code, reason = "lanes are reached by address")]

use super::{Anchor, Anchored, Copied, Form, HEADER, Outcome, Pushed, Ring, Stack, Stride};
use crate::sync::Ordering;
use core::ptr;

/// An implementation that has one way to commit to an anchor's word.
pub trait Stepped: Copy {
    /// `step` gets the lane's anchor and its word, and says which word to commit and what to
    /// return, or what it found instead.
    ///
    /// # Safety
    ///
    /// See [`Contract`](super::Contract).
    unsafe fn anchored<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        form: F,
        step: impl FnOnce(*mut u8, usize) -> Result<(usize, usize), usize>,
    ) -> Outcome<usize>;
}

impl<T: Stepped> Anchored for T {
    #[inline(always)]
    unsafe fn list_push<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        node: *mut u8,
        next: usize,
        form: F,
    ) -> Outcome<usize> {
        let push = |_: *mut u8, head: usize| {
            // SAFETY:
            // - the node is the caller's own, and has a word there.
            unsafe { node.wrapping_add(next).cast::<usize>().write_unaligned(head) };
            Ok((node.expose_provenance(), head))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(anchor, form, push) }
    }

    #[inline(always)]
    unsafe fn list_push_within<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        node: *mut u8,
        next: usize,
        capacity: u32,
        form: F,
    ) -> Outcome<usize> {
        let count = next + size_of::<usize>();
        let push = |_: *mut u8, head: usize| {
            let mut depth = 0;
            if head != 0 {
                let there = ptr::with_exposed_provenance::<u8>(head).wrapping_add(count);
                // SAFETY:
                // - the node is in the list, and counts.
                depth = unsafe { there.cast::<u32>().read_unaligned() };
            }
            if depth >= capacity {
                return Err(head);
            }
            // SAFETY:
            // - the node is the caller's own, and has a word there.
            unsafe { node.wrapping_add(next).cast::<usize>().write_unaligned(head) };
            // SAFETY:
            // - the same of the count.
            unsafe { node.wrapping_add(count).cast::<u32>().write_unaligned(depth + 1) };
            Ok((node.expose_provenance(), head))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(anchor, form, push) }
    }

    #[inline(always)]
    unsafe fn list_pop<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        next: usize,
        form: F,
    ) -> Outcome<usize> {
        let pop = |_: *mut u8, head: usize| {
            if head == 0 {
                return Err(head);
            }
            let link = ptr::with_exposed_provenance::<u8>(head).wrapping_add(next);
            // SAFETY:
            // - the node is in the list.
            let rest = unsafe { link.cast::<usize>().read_unaligned() };
            Ok((rest, head))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(anchor, form, pop) }
    }

    #[inline(always)]
    unsafe fn list_take<S: Stride, F: Form>(self, anchor: *mut Anchor, form: F) -> Outcome<usize> {
        let take = |_: *mut u8, head: usize| if head == 0 { Err(head) } else { Ok((0, head)) };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(anchor, form, take) }
    }

    #[inline(always)]
    unsafe fn stack_push<S: Stride, F: Form>(
        self,
        stack: Stack,
        value: usize,
        form: F,
    ) -> Outcome<usize> {
        let push = |lane: *mut u8, count: usize| {
            if count >= stack.capacity {
                return Err(count);
            }
            let slot = lane.wrapping_add(stack.slots).cast::<usize>().wrapping_add(count);
            // SAFETY:
            // - the slot is one of the lane's, and nobody's until the commit.
            unsafe { slot.write(value) };
            Ok((count + 1, count))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(stack.anchor, form, push) }
    }

    #[inline(always)]
    unsafe fn stack_pop<S: Stride, F: Form>(self, stack: Stack, form: F) -> Outcome<usize> {
        let pop = |lane: *mut u8, count: usize| {
            if count == 0 {
                return Err(count);
            }
            let slot = lane.wrapping_add(stack.slots).cast::<usize>().wrapping_add(count - 1);
            // SAFETY:
            // - the slot was filled by a push, and nobody else is at work in the lane.
            let value = unsafe { slot.read() };
            Ok((count - 1, value))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(stack.anchor, form, pop) }
    }

    #[inline(always)]
    unsafe fn stack_push_batch<S: Stride, F: Form>(
        self,
        stack: Stack,
        from: *const usize,
        count: usize,
        form: F,
    ) -> Outcome<usize> {
        let push = |lane: *mut u8, filled: usize| {
            let moved = count.min(stack.capacity.saturating_sub(filled));
            if moved == 0 {
                return Err(filled);
            }
            let slot = lane.wrapping_add(stack.slots).cast::<usize>().wrapping_add(filled);
            // SAFETY:
            // - the slots are the lane's, and nobody's until the commit;
            // - `from` is readable for `count` words, and apart from the lane.
            unsafe { slot.copy_from_nonoverlapping(from, moved) };
            Ok((filled + moved, moved))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(stack.anchor, form, push) }
    }

    #[inline(always)]
    unsafe fn stack_pop_batch<S: Stride, F: Form>(
        self,
        stack: Stack,
        to: *mut usize,
        count: usize,
        form: F,
    ) -> Outcome<usize> {
        let pop = |lane: *mut u8, filled: usize| {
            let moved = count.min(filled);
            if moved == 0 {
                return Err(filled);
            }
            let slot = lane.wrapping_add(stack.slots).cast::<usize>().wrapping_add(filled - moved);
            // SAFETY:
            // - the slots were filled by pushes, and nobody else is at work in the lane;
            // - `to` is writable for `count` words, and apart from the lane.
            unsafe { slot.copy_to_nonoverlapping(to, moved) };
            Ok((filled - moved, moved))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(stack.anchor, form, pop) }
    }

    #[inline(always)]
    unsafe fn copy<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        bytes: Copied,
        form: F,
    ) -> Outcome<usize> {
        let copy = |lane: *mut u8, index: usize| {
            if index != bytes.expect {
                return Err(index);
            }
            let to = lane.wrapping_add(bytes.to);
            // SAFETY:
            // - the bytes at `to` are free while the index is `expect`;
            // - `from` is readable for `len` bytes, and apart from the lane.
            unsafe { to.copy_from_nonoverlapping(bytes.from, bytes.len) };
            Ok((bytes.commit, index))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(anchor, form, copy) }
    }

    #[inline(always)]
    unsafe fn ring_push<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        rings: *const Ring,
        record: Pushed,
        form: F,
    ) -> Outcome<usize> {
        let push = |lane: *mut u8, index: usize| {
            let number = (lane.addr() - anchor.addr()) / S::BYTES;
            // SAFETY:
            // - each lane has one, for as long as there are pushes.
            let ring = unsafe { &*rings.wrapping_add(number) };
            // Acquire [E61]: pairs with the Release in `give_back`: what the reader read there
            // is read before it is written over.
            if ring.limit.load(Ordering::Acquire).wrapping_sub(index) < record.step {
                return Err(index);
            }
            let at = ring.place(index);
            #[cfg(corelocal_loom)]
            crate::sys::memory::touch(at.addr(), HEADER + record.len());
            // SAFETY:
            // - the bytes from the index on are free, up to the limit.
            unsafe { at.cast::<[u64; 2]>().write(record.header) };
            let to = at.wrapping_add(HEADER);
            // SAFETY:
            // - as above; `from` is readable for `len` bytes, and apart from the lane.
            unsafe { to.copy_from_nonoverlapping(record.from, record.len()) };
            Ok((index.wrapping_add(record.step), index))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.anchored::<S, F>(anchor, form, push) }
    }
}
