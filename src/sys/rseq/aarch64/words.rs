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
            self, form: F, S, size_of::<W>();
            straight [load!("a"), "add {a}, {a}, {value}"], commit!("a");
            word = in(reg) word, value = in(reg) value.bits(),
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
            self, form: F, S, size_of::<W>();
            straight [
                load!("r"),
                point!("4"),
                ".if {op} == 0", "add {a}, {r}, {value}",
                ".elseif {op} == 1", "and {a}, {r}, {value}",
                ".elseif {op} == 2", "orr {a}, {r}, {value}",
                ".else", "eor {a}, {r}, {value}", ".endif",
            ],
            commit!("a");
            word = in(reg) word, value = in(reg) value.bits(), op = const OP,
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
            self, form: F, S, size_of::<W>();
            straight [load!("r"), point!("4")], commit!("value");
            word = in(reg) word, value = in(reg) value.bits(),
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
            self, form: F, S, size_of::<W>();
            compares [load!("r"), point!("4"), "cmp {r}, {expect}", "b.ne 78f"], commit!("value");
            word = in(reg) word, expect = in(reg) expect.bits(), value = in(reg) value.bits(),
        }
        .map(W::of)
    }
}
