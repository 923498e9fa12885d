//! Sections for AArch64.
//!
//! As in `x86_64`, with what differs here:
//!
//! * The signature that precedes the abort handler is a `brk`, written as an
//!   instruction: its bytes are the same on either byte order.
//! * The thread pointer is a register of its own; its distance to the area is negative
//!   with some libraries.
//! * A relaxed and a release commit differ (`str`, `stlr`); the latter takes an address
//!   in one register, so `{p}` is the address of the lane's copy.
//! * What a section loads on its CPU needs no barrier: the kernel's switch between two
//!   threads of one CPU orders them.
//!
//! Registers: `{lane}` the CPU; `{p}` the lane's copy; `{r}` the bound of the id check, after
//! it free, and the result in the end; `{a}` and `{b}` the guard and its expected value,
//! after it free; `{word}` lane 0's copy, after it free; `{area}` the thread's area.
#![allow(unsafe_code, reason = "sections")]

use super::inject::Points;
use super::{Form, Hot};
use crate::sync::AtomicUsize;
use core::mem::MaybeUninit;

/// One attempt at an operation, as a section. With `INJECT` a test can hold it up.
#[derive(Clone, Copy, Debug)]
pub struct Sections<const INJECT: bool = false> {
    hot: Hot,
    /// The address of the points; without `INJECT` any value, and one that is in a register
    /// anyway costs none.
    points: isize,
}

impl Sections {
    /// Sections on the lanes `0..hot.limit`.
    #[inline(always)]
    pub fn new(hot: Hot) -> Self {
        Self { hot, points: hot.offset }
    }

    /// The same, held up at `points`.
    pub fn held(self, points: &Points) -> Sections<true> {
        Sections { hot: self.hot, points: core::ptr::from_ref(points).expose_provenance() as isize }
    }
}

/// `*{p} = {register}` in the width of the word, released if the form says so.
macro_rules! commit {
    ($register:literal) => {
        concat!(
            ".if {release}\n",
            ".if {width} == 8\nstlr {",
            $register,
            ":x}, [{p}]\n",
            ".elseif {width} == 4\nstlr {",
            $register,
            ":w}, [{p}]\n",
            ".elseif {width} == 2\nstlrh {",
            $register,
            ":w}, [{p}]\n",
            ".else\nstlrb {",
            $register,
            ":w}, [{p}]\n.endif\n",
            ".else\n",
            ".if {width} == 8\nstr {",
            $register,
            ":x}, [{p}]\n",
            ".elseif {width} == 4\nstr {",
            $register,
            ":w}, [{p}]\n",
            ".elseif {width} == 2\nstrh {",
            $register,
            ":w}, [{p}]\n",
            ".else\nstrb {",
            $register,
            ":w}, [{p}]\n.endif\n",
            ".endif",
        )
    };
}

/// `{register} = *{p}`, zero-extended from the width of the word.
macro_rules! load {
    ($register:literal) => {
        concat!(
            ".if {width} == 8\nldr {",
            $register,
            ":x}, [{p}]\n",
            ".elseif {width} == 4\nldr {",
            $register,
            ":w}, [{p}]\n",
            ".elseif {width} == 2\nldrh {",
            $register,
            ":w}, [{p}]\n",
            ".else\nldrb {",
            $register,
            ":w}, [{p}]\n.endif",
        )
    };
}

/// A place where a test can hold the section up: counts a word of `Points` down.
macro_rules! point {
    ($number:literal) => {
        concat!(
            ".if {inject}\nmov {turns:w}, ",
            $number,
            "\nstr {turns:w}, [{points}, {at}]\n",
            "81: ldr {turns:w}, [{points}, 4 * ",
            $number,
            "]\nsubs {turns:w}, {turns:w}, 1\n",
            "str {turns:w}, [{points}, 4 * ",
            $number,
            "]\nb.pl 81b\n.endif",
        )
    };
}

/// Whether a section has a test of its own.
macro_rules! compares {
    (compares) => {
        true
    };
    (straight) => {
        false
    };
}

/// One section: the frame, with an operation's steps and its commit in it. `compares` if a step
/// can leave by `78`, else `straight`.
macro_rules! section {
    (
        $self:ident, $form:ident: $F:ty, $S:ty, $width:expr;
        $compares:ident [$($step:expr),* $(,)?], $commit:expr;
        $($operands:tt)*
    ) => {{
        let status: usize;
        let lane: u64;
        let result: u64;
        let bound = if <$F>::ON { $form.cpu() } else { $self.hot.limit };
        let (guard, expect) = super::guard::<$F>($form);
        // SAFETY:
        // - `Hot` exists, so the area lies at its offset from the thread pointer; of it
        //   only the descriptor's address is written.
        // - what the steps touch is inside the lane, or the caller's (`Contract`).
        // - a thread that is cut off leaves through the abort handler with no effect.
        unsafe {
            core::arch::asm!(
                ".pushsection __rseq_cs, \"aw\", %progbits",
                ".balign 32",
                "72: .long 0, 0",
                ".quad 73f, (74f - 73f), 75f",
                ".popsection",
                "mrs {area}, tpidr_el0",
                "add {area}, {area}, {off}",
                "adrp {status}, 72b",
                "add {status}, {status}, :lo12:72b",
                point!("0"),
                "str {status}, [{area}, {SECTION}]",
                // ---- from here on the kernel cuts off
                "73:",
                point!("1"),
                "ldr {lane:w}, [{area}, {CPU_ID}]",
                "cmp {lane:w}, {r:w}",
                ".if {on}", "b.ne 76f", ".else", "b.hs 76f", ".endif",
                point!("2"),
                ".if {guarded}", "ldr {a}, [{a}]", "cmp {a}, {b}", "b.ne 77f", ".endif",
                point!("3"),
                "madd {p}, {lane}, {stride}, {word}",
                $($step,)*
                point!("7"),
                $commit,
                // ---- up to here
                "74:",
                point!("8"),
                "str xzr, [{area}, {SECTION}]",
                ".subsection 1",
                ".inst 0xd428bc00",
                // The kernel has cleared the descriptor's address.
                "75: mov {status}, {ABORTED}", "b 79f",
                "76: mov {status}, {ELSEWHERE}", "b 70f",
                "77: mov {status}, {CLOSED}", "b 70f",
                "78: mov {status}, {DIFFERS}",
                "70: str xzr, [{area}, {SECTION}]", "b 79f",
                ".subsection 0",
                "79: /* width {width} release {release} */",
                status = out(reg) status,
                lane = out(reg) lane,
                p = out(reg) _,
                area = out(reg) _,
                turns = out(reg) _,
                r = inout(reg) u64::from(bound) => result,
                a = inout(reg) guard => _,
                b = inout(reg) expect => _,
                off = in(reg) $self.hot.offset,
                points = in(reg) $self.points,
                stride = in(reg) <$S>::BYTES,
                on = const <$F>::ON as u32,
                guarded = const <$F>::GUARDED as u32,
                release = const <$F>::RELEASE as u32,
                inject = const INJECT as u32,
                at = const Points::AT,
                width = const $width,
                CPU_ID = const super::super::abi::CPU_ID,
                SECTION = const super::super::abi::SECTION,
                ABORTED = const super::super::ABORTED,
                ELSEWHERE = const super::super::ELSEWHERE,
                CLOSED = const super::super::CLOSED,
                DIFFERS = const super::super::DIFFERS,
                $($operands)*
                options(nostack),
            )
        }
        super::super::attempt::<$F, { compares!($compares) }>(status, lane as u32, result)
    }};
}

mod anchored;
mod words;

/// The guard as operands; without one two registers that nobody fills.
#[inline(always)]
fn guard<F: Form>(form: F) -> (MaybeUninit<*const AtomicUsize>, MaybeUninit<usize>) {
    if F::GUARDED {
        let (guard, expect) = form.guard();
        (MaybeUninit::new(guard), MaybeUninit::new(expect))
    } else {
        (MaybeUninit::uninit(), MaybeUninit::uninit())
    }
}

/// From where the distance to a thread's area is counted.
pub(super) fn thread_pointer() -> *mut u8 {
    let address: *mut u8;
    // SAFETY:
    // - reads a register.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) address, options(nostack, preserves_flags, nomem))
    };
    address
}
