//! Lists, stacks and copies.
#![allow(unsafe_code, reason = "sections")]

use super::super::Stride;
use super::super::inject::Points;
use super::super::{Anchor, Anchored, Copied, Form, Outcome, Pushed, Ring, Stack};
use super::Sections;
use core::mem::{offset_of, size_of};

/// Sixteen bytes from `{from}` to behind a header at `{b}`. Not in the older encoding where the code
/// around uses the newer one: some processors take long to change from one to the other.
macro_rules! block {
    ($at:literal) => {
        concat!(
            ".if {avx}\nvmovups {x}, xmmword ptr [{from}",
            $at,
            "]\nvmovups xmmword ptr [{b} + 16",
            $at,
            "], {x}\n.else\nmovups {x}, xmmword ptr [{from}",
            $at,
            "]\nmovups xmmword ptr [{b} + 16",
            $at,
            "], {x}\n.endif",
        )
    };
}

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
            self, form: F, S;
            straight [
                "mov {r}, qword ptr [{p}]",
                point!("4"),
                "mov qword ptr [{node} + {next}], {r}",
                point!("5"),
            ],
            "mov qword ptr [{p}], {node}";
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
            self, form: F, S;
            compares [
                "mov {r}, qword ptr [{p}]",
                point!("4"),
                "xor {a:e}, {a:e}",
                "test {r}, {r}",
                "jz 82f",
                "mov {a:e}, dword ptr [{r} + {next} + 8]",
                "82: cmp {a:e}, {capacity:e}",
                "jae 78f",
                "mov qword ptr [{node} + {next}], {r}",
                point!("5"),
                "add {a:e}, 1",
                "mov dword ptr [{node} + {next} + 8], {a:e}",
                point!("6"),
            ],
            "mov qword ptr [{p}], {node}";
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
            self, form: F, S;
            compares [
                "mov {r}, qword ptr [{p}]",
                point!("4"),
                "test {r}, {r}",
                "jz 78f",
                "mov {a}, qword ptr [{r} + {next}]",
                point!("5"),
            ],
            "mov qword ptr [{p}], {a}";
            word = in(reg) anchor, next = in(reg) next,
        }
        .map(|head| head as usize)
    }

    #[inline(always)]
    unsafe fn list_take<S: Stride, F: Form>(self, anchor: *mut Anchor, form: F) -> Outcome<usize> {
        section! {
            self, form: F, S;
            compares ["mov {r}, qword ptr [{p}]", point!("4"), "test {r}, {r}", "jz 78f"],
            "mov qword ptr [{p}], 0";
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
            self, form: F, S;
            compares [
                "mov {r}, qword ptr [{p}]",
                point!("4"),
                "cmp {r}, {capacity}",
                "jae 78f",
                "lea {a}, [{p} + {slots}]",
                "mov qword ptr [{a} + 8 * {r}], {value}",
                point!("5"),
                "lea {a}, [{r} + 1]",
            ],
            "mov qword ptr [{p}], {a}";
            word = in(reg) stack.anchor, slots = in(reg) stack.slots,
            capacity = in(reg) stack.capacity, value = in(reg) value,
        }
        .map(|count| count as usize)
    }

    #[inline(always)]
    unsafe fn stack_pop<S: Stride, F: Form>(self, stack: Stack, form: F) -> Outcome<usize> {
        section! {
            self, form: F, S;
            compares [
                "mov {a}, qword ptr [{p}]",
                point!("4"),
                "sub {a}, 1",
                "jb 78f",
                "lea {r}, [{p} + {slots}]",
                "mov {r}, qword ptr [{r} + 8 * {a}]",
                point!("5"),
            ],
            "mov qword ptr [{p}], {a}";
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
            self, form: F, S;
            compares [
                "mov {b}, qword ptr [{p}]",
                point!("4"),
                "mov {r}, {capacity}",
                "sub {r}, {b}",
                "jbe 78f",
                "cmp {r}, {count}",
                "cmova {r}, {count}",
                "test {r}, {r}",
                "jz 78f",
                "add {slots}, {p}",
                "lea {slots}, [{slots} + 8 * {b}]",
                "xor {b:e}, {b:e}",
                "82: mov {a}, qword ptr [{from} + 8 * {b}]",
                point!("5"),
                "mov qword ptr [{slots} + 8 * {b}], {a}",
                "add {b}, 1",
                "cmp {b}, {r}",
                "jb 82b",
                point!("6"),
                "add {b}, qword ptr [{p}]",
            ],
            "mov qword ptr [{p}], {b}";
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
            self, form: F, S;
            compares [
                "mov {r}, qword ptr [{p}]",
                point!("4"),
                "mov {b}, {r}",
                "cmp {r}, {count}",
                "cmova {r}, {count}",
                "sub {b}, {r}",
                "test {r}, {r}",
                "jz 78f",
                "add {slots}, {p}",
                "lea {slots}, [{slots} + 8 * {b}]",
                "xor {b:e}, {b:e}",
                "82: mov {a}, qword ptr [{slots} + 8 * {b}]",
                point!("5"),
                "mov qword ptr [{to} + 8 * {b}], {a}",
                "add {b}, 1",
                "cmp {b}, {r}",
                "jb 82b",
                point!("6"),
                "mov {a}, qword ptr [{p}]",
                "sub {a}, {b}",
            ],
            "mov qword ptr [{p}], {a}";
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
            self, form: F, S;
            compares [
                "mov {r}, qword ptr [{p}]",
                point!("4"),
                "cmp {r}, {expect}",
                "jne 78f",
                "add {to}, {p}",
                "xor {b:e}, {b:e}",
                // Words while eight bytes are left, then bytes.
                "82: sub {len}, 8",
                "jb 83f",
                "mov {a}, qword ptr [{from} + {b}]",
                "mov qword ptr [{to} + {b}], {a}",
                point!("5"),
                "add {b}, 8",
                "jmp 82b",
                "83: add {len}, 8",
                "84: sub {len}, 1",
                "jb 85f",
                "mov {a:l}, byte ptr [{from} + {b}]",
                "mov byte ptr [{to} + {b}], {a:l}",
                point!("6"),
                "add {b}, 1",
                "jmp 84b",
                "85:",
            ],
            "mov qword ptr [{p}], {commit}";
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
            self, form: F, S;
            compares [
                "mov {r}, qword ptr [{p}]",
                point!("4"),
                "imul {a}, {lane}, {apart}",
                "add {a}, {rings}",
                "mov {b}, qword ptr [{a} + {LIMIT}]",
                "sub {b}, {r}",
                "cmp {b}, {step}",
                "jb 78f",
                "mov {b}, {r}",
                "shr {b}, 32",
                "and {b}, qword ptr [{a} + {MASK}]",
                "mov {a}, qword ptr [{a} + {BYTES}]",
                "lea {b}, [{a} + 8 * {b}]",
                "mov qword ptr [{b}], {head}",
                "mov qword ptr [{b} + 8], {second}",
                // Blocks of sixteen from the end to the beginning; the first one may overlap.
                "mov {word:e}, {head:e}",
                "sub {word}, 16",
                "jb 83f",
                block!(""),
                "je 86f",
                "82:",
                block!(" + {word}"),
                point!("5"),
                "sub {word}, 16",
                "ja 82b",
                "jmp 86f",
                "83: add {word}, 8",
                "jnc 84f",
                "mov {a}, qword ptr [{from}]",
                "mov qword ptr [{b} + 16], {a}",
                "mov {a}, qword ptr [{from} + {word}]",
                "mov qword ptr [{b} + {word} + 16], {a}",
                "jmp 86f",
                "84: add {word}, 8",
                "85: sub {word}, 1",
                "jb 86f",
                "mov {a:l}, byte ptr [{from} + {word}]",
                "mov byte ptr [{b} + {word} + 16], {a:l}",
                point!("6"),
                "jmp 85b",
                "86: lea {a}, [{r} + {step}]",
            ],
            "mov qword ptr [{p}], {a}";
            word = inout(reg) anchor => _, rings = in(reg) rings, step = in(reg) record.step,
            head = in(reg) record.header[0], second = in(reg) record.header[1],
            from = in(reg) record.from, x = out(xmm_reg) _,
            avx = const cfg!(target_feature = "avx") as u32,
            apart = const size_of::<Ring>(), LIMIT = const offset_of!(Ring, limit),
            MASK = const offset_of!(Ring, mask), BYTES = const offset_of!(Ring, bytes),
        }
        .map(|index| index as usize)
    }
}
