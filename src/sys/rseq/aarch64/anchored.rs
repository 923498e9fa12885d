//! Lists, stacks and copies.
#![allow(unsafe_code, reason = "sections")]

use super::super::Stride;
use super::super::inject::Points;
use super::super::{Anchor, Anchored, Copied, Form, Outcome, Pushed, Ring, Stack};
use super::Sections;
use core::mem::{offset_of, size_of};

const POINTER: usize = size_of::<usize>();

impl<const INJECT: bool> Anchored for Sections<INJECT> {
    #[inline(always)]
    unsafe fn list_push<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        node: *mut u8,
        next: usize,
        form: F,
    ) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            straight [
                "ldr {r}, [{p}]",
                point!("4"),
                "str {r}, [{node}, {next}]",
                point!("5"),
            ],
            commit!("node");
            word = in(reg) anchor, node = in(reg) node, next = in(reg) next,
        }
        .map(|head| head as usize)
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
        section! {
            self, form: F, S, POINTER;
            compares [
                "ldr {r}, [{p}]",
                point!("4"),
                "mov {a:w}, 0",
                "cbz {r}, 82f",
                "add {b}, {r}, {next}",
                "ldr {a:w}, [{b}, 8]",
                "82: cmp {a:w}, {capacity:w}",
                "b.hs 78f",
                "add {b}, {node}, {next}",
                "str {r}, [{b}]",
                point!("5"),
                "add {a:w}, {a:w}, 1",
                "str {a:w}, [{b}, 8]",
                point!("6"),
            ],
            commit!("node");
            word = in(reg) anchor, node = in(reg) node, next = in(reg) next,
            capacity = in(reg) capacity,
        }
        .map(|head| head as usize)
    }

    #[inline(always)]
    unsafe fn list_pop<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        next: usize,
        form: F,
    ) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            compares [
                "ldr {r}, [{p}]",
                point!("4"),
                "cbz {r}, 78f",
                "ldr {a}, [{r}, {next}]",
                point!("5"),
            ],
            commit!("a");
            word = in(reg) anchor, next = in(reg) next,
        }
        .map(|head| head as usize)
    }

    #[inline(always)]
    unsafe fn list_take<S: Stride, F: Form>(self, anchor: *mut Anchor, form: F) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            compares ["ldr {r}, [{p}]", point!("4"), "cbz {r}, 78f", "mov {a}, 0"], commit!("a");
            word = in(reg) anchor,
        }
        .map(|head| head as usize)
    }

    #[inline(always)]
    unsafe fn stack_push<S: Stride, F: Form>(
        self,
        stack: Stack,
        value: usize,
        form: F,
    ) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            compares [
                "ldr {r}, [{p}]",
                point!("4"),
                "cmp {r}, {capacity}",
                "b.hs 78f",
                "add {a}, {p}, {slots}",
                "str {value}, [{a}, {r}, lsl 3]",
                point!("5"),
                "add {a}, {r}, 1",
            ],
            commit!("a");
            word = in(reg) stack.anchor, slots = in(reg) stack.slots,
            capacity = in(reg) stack.capacity, value = in(reg) value,
        }
        .map(|count| count as usize)
    }

    #[inline(always)]
    unsafe fn stack_pop<S: Stride, F: Form>(self, stack: Stack, form: F) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            compares [
                "ldr {a}, [{p}]",
                point!("4"),
                "cbz {a}, 78f",
                "sub {a}, {a}, 1",
                "add {b}, {p}, {slots}",
                "ldr {r}, [{b}, {a}, lsl 3]",
                point!("5"),
            ],
            commit!("a");
            word = in(reg) stack.anchor, slots = in(reg) stack.slots,
        }
        .map(|value| value as usize)
    }

    #[inline(always)]
    unsafe fn stack_push_batch<S: Stride, F: Form>(
        self,
        stack: Stack,
        from: *const usize,
        count: usize,
        form: F,
    ) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            compares [
                "ldr {b}, [{p}]",
                point!("4"),
                "subs {r}, {capacity}, {b}",
                "b.ls 78f",
                "cmp {r}, {count}",
                "csel {r}, {r}, {count}, lo",
                "cbz {r}, 78f",
                "add {slots}, {slots}, {p}",
                "add {slots}, {slots}, {b}, lsl 3",
                "mov {b}, 0",
                "82: ldr {a}, [{from}, {b}, lsl 3]",
                point!("5"),
                "str {a}, [{slots}, {b}, lsl 3]",
                "add {b}, {b}, 1",
                "cmp {b}, {r}",
                "b.lo 82b",
                point!("6"),
                "ldr {a}, [{p}]",
                "add {a}, {a}, {b}",
            ],
            commit!("a");
            word = in(reg) stack.anchor, slots = inout(reg) stack.slots => _,
            capacity = in(reg) stack.capacity, from = in(reg) from, count = in(reg) count,
        }
        .map(|moved| moved as usize)
    }

    #[inline(always)]
    unsafe fn stack_pop_batch<S: Stride, F: Form>(
        self,
        stack: Stack,
        to: *mut usize,
        count: usize,
        form: F,
    ) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            compares [
                "ldr {b}, [{p}]",
                point!("4"),
                "cmp {b}, {count}",
                "csel {r}, {b}, {count}, lo",
                "cbz {r}, 78f",
                "sub {b}, {b}, {r}",
                "add {slots}, {slots}, {p}",
                "add {slots}, {slots}, {b}, lsl 3",
                "mov {b}, 0",
                "82: ldr {a}, [{slots}, {b}, lsl 3]",
                point!("5"),
                "str {a}, [{to}, {b}, lsl 3]",
                "add {b}, {b}, 1",
                "cmp {b}, {r}",
                "b.lo 82b",
                point!("6"),
                "ldr {a}, [{p}]",
                "sub {a}, {a}, {b}",
            ],
            commit!("a");
            word = in(reg) stack.anchor, slots = inout(reg) stack.slots => _,
            to = in(reg) to, count = in(reg) count,
        }
        .map(|moved| moved as usize)
    }

    #[inline(always)]
    unsafe fn copy<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        bytes: Copied,
        form: F,
    ) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            compares [
                "ldr {r}, [{p}]",
                point!("4"),
                "cmp {r}, {expect}",
                "b.ne 78f",
                "add {to}, {to}, {p}",
                "mov {b}, 0",
                // Words while eight bytes are left, then bytes.
                "82: subs {len}, {len}, 8",
                "b.lo 83f",
                "ldr {a}, [{from}, {b}]",
                "str {a}, [{to}, {b}]",
                point!("5"),
                "add {b}, {b}, 8",
                "b 82b",
                "83: add {len}, {len}, 8",
                "84: cbz {len}, 85f",
                "sub {len}, {len}, 1",
                "ldrb {a:w}, [{from}, {b}]",
                "strb {a:w}, [{to}, {b}]",
                point!("6"),
                "add {b}, {b}, 1",
                "b 84b",
                "85:",
            ],
            commit!("commit");
            word = in(reg) anchor, from = in(reg) bytes.from, len = inout(reg) bytes.len => _,
            to = inout(reg) bytes.to => _, expect = in(reg) bytes.expect,
            commit = in(reg) bytes.commit,
        }
        .map(|index| index as usize)
    }

    #[inline(always)]
    unsafe fn ring_push<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        rings: *const Ring,
        record: Pushed,
        form: F,
    ) -> Outcome<usize> {
        section! {
            self, form: F, S, POINTER;
            compares [
                "ldr {r}, [{p}]",
                point!("4"),
                "mov {a}, {apart}",
                "madd {a}, {lane}, {a}, {rings}",
                "ldar {b}, [{a}]",
                "sub {b}, {b}, {r}",
                "cmp {b}, {step}",
                "b.lo 78f",
                "ldp {c}, {b}, [{a}, {BYTES}]",
                "and {b}, {b}, {r}, lsr 32",
                "add {b}, {c}, {b}, lsl 3",
                "stp {head}, {second}, [{b}], 16",
                "mov {word:w}, {head:w}",
                // Two words, one, then bytes.
                "82: subs {word}, {word}, 16",
                "b.lo 83f",
                "ldp {a}, {c}, [{from}], 16",
                point!("5"),
                "stp {a}, {c}, [{b}], 16",
                "b 82b",
                "83: add {word}, {word}, 16",
                "tbz {word}, 3, 84f",
                "ldr {a}, [{from}], 8",
                "str {a}, [{b}], 8",
                "84: ands {word}, {word}, 7",
                "85: b.eq 86f",
                "ldrb {a:w}, [{from}], 1",
                "strb {a:w}, [{b}], 1",
                point!("6"),
                "subs {word}, {word}, 1",
                "b 85b",
                "86: add {a}, {r}, {step}",
            ],
            commit!("a");
            word = inout(reg) anchor => _, rings = in(reg) rings, step = in(reg) record.step,
            head = in(reg) record.header[0], second = in(reg) record.header[1],
            from = inout(reg) record.from => _, c = out(reg) _,
            apart = const size_of::<Ring>(), BYTES = const offset_of!(Ring, bytes),
        }
        .map(|index| index as usize)
    }
}
