//! In which form an operation is done: which lane, which guard, which commit.

use crate::cpu::CpuId;
use crate::sync::AtomicUsize;
use core::ptr;

/// Which lane an operation acts on, under which condition, and how it commits.
pub trait Form: Copy {
    /// Expected-CPU form: commits on [`cpu`](Form::cpu) or not at all.
    const ON: bool;
    /// Guarded form: commits only while a word holds an expected value.
    const GUARDED: bool;
    /// The commit is a release store, not a relaxed one.
    const RELEASE: bool;

    /// The CPU that is asked for, if `ON`.
    fn cpu(self) -> u32;
    /// The guard and the value it must hold, if `GUARDED`.
    fn guard(self) -> (*const AtomicUsize, usize);
}

/// The one type of form; see [`HERE`] and [`on`].
#[derive(Clone, Copy, Debug)]
pub struct At<const ON: bool, const GUARDED: bool, const RELEASE: bool> {
    cpu: u32,
    guard: *const AtomicUsize,
    expect: usize,
}

/// On whatever CPU the thread is, without a guard, with a relaxed commit.
pub const HERE: At<false, false, false> = At { cpu: 0, guard: ptr::null(), expect: 0 };

/// On `cpu` or not at all, without a guard, with a relaxed commit.
#[inline(always)]
pub const fn on(cpu: CpuId) -> At<true, false, false> {
    At { cpu: cpu.get(), guard: ptr::null(), expect: 0 }
}

impl<const ON: bool, const RELEASE: bool> At<ON, false, RELEASE> {
    /// The same, but only while the word at `guard` holds `expect`: it is loaded in the
    /// section, so after a change of the word and a [fence](super::fence_all) no
    /// section that saw the old value is left.
    #[inline(always)]
    pub const fn guarded(self, guard: *const AtomicUsize, expect: usize) -> At<ON, true, RELEASE> {
        At { cpu: self.cpu, guard, expect }
    }
}

impl<const ON: bool, const GUARDED: bool> At<ON, GUARDED, false> {
    /// The same with a release commit: whoever sees it sees what this thread did before.
    #[inline(always)]
    pub const fn release(self) -> At<ON, GUARDED, true> {
        At { cpu: self.cpu, guard: self.guard, expect: self.expect }
    }
}

impl<const ON: bool, const GUARDED: bool, const RELEASE: bool> Form for At<ON, GUARDED, RELEASE> {
    const ON: bool = ON;
    const GUARDED: bool = GUARDED;
    const RELEASE: bool = RELEASE;

    #[inline(always)]
    fn cpu(self) -> u32 {
        self.cpu
    }

    #[inline(always)]
    fn guard(self) -> (*const AtomicUsize, usize) {
        (self.guard, self.expect)
    }
}
