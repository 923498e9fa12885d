//! Sections for x86-64.
//!
//! `section!` is the frame; an operation adds what it does after the address is
//! known, and its committing store. What the frame arranges:
//!
//! * The descriptor goes to `__rseq_cs`, 32 bytes aligned to 32. Its addresses need
//!   relocations, hence `"aw"`. A section of the name `.data.rel.ro.rseq_cs` would be
//!   read-only after start-up, but the linker merges it away: nothing could list a
//!   binary's descriptors any more, and a missing signature would be found by no check.
//! * The abort handler follows the signature that libc registered, inside an
//!   instruction that cannot run (`ud1`), in subsection 1: out of the hot path, in
//!   the same function. It does not try again: that is `ops`' business, so the hot
//!   path carries no counter.
//! * The descriptor is cleared after the section, so that the library can be unloaded.
//! * `status` holds the descriptor's address after a commit, and a small number after
//!   any other way out. (`label` operands cannot stand beside outputs.)
//! * The lane's copy is addressed by one register, without an index, and a sum is not made
//!   by an `add` of two registers into the one that was loaded. Measured, and documented by
//!   nobody: only then does an Intel core that renames memory hand a stored value to the next
//!   load past the store buffer, and adds to one word in a loop take half of the time.
//! * Numeric labels, so that inlined copies do not clash; none of 0 and 1 alone.
//!
//! Registers: `{lane}` the CPU; `{p}` the address of its lane's copy; `{r}` the bound of the
//! id check, after it free, and the result in the end; `{a}` and `{b}` the guard and its
//! expected value, after it free; `{word}` lane 0's copy.
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

/// `*{p} = {register}` in the width of the word.
macro_rules! store {
    ($register:literal) => {
        concat!(
            ".if {width} == 8\nmov qword ptr [{p}], {",
            $register,
            ":r}\n",
            ".elseif {width} == 4\nmov dword ptr [{p}], {",
            $register,
            ":e}\n",
            ".elseif {width} == 2\nmov word ptr [{p}], {",
            $register,
            ":x}\n",
            ".else\nmov byte ptr [{p}], {",
            $register,
            ":l}\n.endif",
        )
    };
}

/// `{register} = *{p}`, zero-extended from the width of the word.
macro_rules! load {
    ($register:literal) => {
        concat!(
            ".if {width} == 8\nmov {",
            $register,
            ":r}, qword ptr [{p}]\n",
            ".elseif {width} == 4\nmov {",
            $register,
            ":e}, dword ptr [{p}]\n",
            ".elseif {width} == 2\nmovzx {",
            $register,
            ":e}, word ptr [{p}]\n",
            ".else\nmovzx {",
            $register,
            ":e}, byte ptr [{p}]\n.endif",
        )
    };
}

/// A place where a test can hold the section up: counts a word of `Points` down.
macro_rules! point {
    ($number:literal) => {
        concat!(
            ".if {inject}\nmov dword ptr [{points} + {at}], ",
            $number,
            "\n",
            "81: sub dword ptr [{points} + 4 * ",
            $number,
            "], 1\njns 81b\n.endif",
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
        $self:ident, $form:ident: $F:ty, $S:ty;
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
                ".pushsection __rseq_cs, \"aw\", @progbits",
                ".balign 32",
                "72: .long 0, 0",
                ".quad 73f, (74f - 73f), 75f",
                ".popsection",
                "lea {status}, [rip + 72b]",
                point!("0"),
                "mov qword ptr fs:[{off} + {SECTION}], {status}",
                // ---- from here on the kernel cuts off
                "73:",
                point!("1"),
                "mov {lane:e}, dword ptr fs:[{off} + {CPU_ID}]",
                "cmp {lane:e}, {r:e}",
                ".if {on}", "jne 76f", ".else", "jae 76f", ".endif",
                point!("2"),
                ".if {guarded}", "cmp qword ptr [{a}], {b}", "jne 77f", ".endif",
                point!("3"),
                // A stride beyond 31 bits does not fit the instruction.
                ".if {stride} < 0x80000000", "imul {p}, {lane}, {stride}",
                ".else", "movabs {p}, {stride}", "imul {p}, {lane}", ".endif",
                "add {p}, {word}",
                $($step,)*
                point!("7"),
                $commit,
                // ---- up to here
                "74:",
                point!("8"),
                "mov qword ptr fs:[{off} + {SECTION}], 0",
                ".subsection 1",
                ".byte 0x0f, 0xb9, 0x3d",
                ".long 0x53053053",
                // The kernel has cleared the descriptor's address.
                "75: mov {status:e}, {ABORTED}", "jmp 79f",
                "76: mov {status:e}, {ELSEWHERE}", "jmp 70f",
                "77: mov {status:e}, {CLOSED}", "jmp 70f",
                "78: mov {status:e}, {DIFFERS}",
                "70: mov qword ptr fs:[{off} + {SECTION}], 0", "jmp 79f",
                ".subsection 0",
                "79:",
                status = out(reg) status,
                lane = out(reg) lane,
                p = out(reg) _,
                r = inout(reg) u64::from(bound) => result,
                a = inout(reg) guard => _,
                b = inout(reg) expect => _,
                off = in(reg) $self.hot.offset,
                points = in(reg) $self.points,
                on = const <$F>::ON as u32,
                guarded = const <$F>::GUARDED as u32,
                inject = const INJECT as u32,
                at = const Points::AT,
                stride = const <$S>::BYTES,
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
    // - the thread ABI puts the block's address into its first word.
    unsafe {
        core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) address, options(nostack, preserves_flags, readonly))
    };
    address
}
