//! Operations on one word.
#![allow(unsafe_code, reason = "sections")]

use super::super::inject::Points;
use super::super::{Form, Int, Outcome, Stride, Word, Words};
use super::Sections;
use core::mem::size_of;

impl<const INJECT: bool> Words for Sections<INJECT> {
    #[inline(always)]
    unsafe fn add<S: Stride, W: Int, F: Form>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<()> {
        section! {
            self, form: F, S;
            // In three instructions, and by `lea`: see the module's page.
            straight [load!("a"), "lea {a}, [{a} + {value}]"], store!("a");
            word = in(reg) word, value = in(reg) value.bits(), width = const size_of::<W>(),
        }
        .map(|_| ())
    }

    #[inline(always)]
    unsafe fn update<S: Stride, W: Int, F: Form, const OP: u32>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        section! {
            self, form: F, S;
            straight [
                load!("r"),
                point!("4"),
                "mov {a}, {r}",
                ".if {op} == 0", "add {a}, {value}",
                ".elseif {op} == 1", "and {a}, {value}",
                ".elseif {op} == 2", "or {a}, {value}",
                ".else", "xor {a}, {value}", ".endif",
            ],
            store!("a");
            word = in(reg) word, value = in(reg) value.bits(), width = const size_of::<W>(), op = const OP,
        }
        .map(W::of)
    }

    #[inline(always)]
    unsafe fn swap<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        section! {
            self, form: F, S;
            straight [load!("r"), point!("4")],
            store!("value");
            word = in(reg) word, value = in(reg) value.bits(), width = const size_of::<W>(),
        }
        .map(W::of)
    }

    #[inline(always)]
    unsafe fn compare_store<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        expect: W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        section! {
            self, form: F, S;
            compares [load!("r"), point!("4"), "cmp {r}, {expect}", "jne 78f"],
            store!("value");
            word = in(reg) word, expect = in(reg) expect.bits(), value = in(reg) value.bits(), width = const size_of::<W>(),
        }
        .map(W::of)
    }
}
