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
    /// The guard is one for sections: atomics do not look at it.
    const SECTIONS_ONLY: bool;
    /// The commit is a release store, not a relaxed one.
    const RELEASE: bool;

    /// The CPU that is asked for, if `ON`.
    fn cpu(self) -> u32;
    /// The guard and the value it must hold, if `GUARDED`.
    fn guard(self) -> (*const AtomicUsize, usize);
}

/// The one type of form; see [`HERE`] and [`on`]. What is not asked for takes no room.
#[derive(Clone, Copy, Debug)]
pub struct At<P, G, const RELEASE: bool> {
    place: P,
    guard: G,
}

/// Whichever CPU the thread is on; no guard.
#[derive(Clone, Copy, Debug)]
pub struct Any;

/// On this CPU or not at all.
#[derive(Clone, Copy, Debug)]
pub struct On(u32);

/// Only while this word holds this value.
#[derive(Clone, Copy, Debug)]
pub struct While(*const AtomicUsize, usize);

/// In a section only while this word holds this value; by atomics whatever it holds.
#[derive(Clone, Copy, Debug)]
pub struct InSections(*const AtomicUsize, usize);

/// On whatever CPU the thread is, without a guard, with a relaxed commit.
pub const HERE: At<Any, Any, false> = At { place: Any, guard: Any };

/// On `cpu` or not at all, without a guard, with a relaxed commit.
#[inline(always)]
pub const fn on(cpu: CpuId) -> At<On, Any, false> {
    At { place: On(cpu.get()), guard: Any }
}

impl<P: Copy, const RELEASE: bool> At<P, Any, RELEASE> {
    /// The same, but only while the word at `guard` holds `expect`: it is loaded in the
    /// section, so after a change of the word and a [fence](super::fence_all) no
    /// section that saw the old value is left.
    #[inline(always)]
    pub const fn guarded(self, guard: *const AtomicUsize, expect: usize) -> At<P, While, RELEASE> {
        At { place: self.place, guard: While(guard, expect) }
    }

    /// As [`guarded`](Self::guarded) in a section. By atomics the operation takes place whatever the
    /// word at `guard` holds, and does not look at it, neither before its store nor after it (when
    /// the store may have given up the object that the guard lies in): what it finds in its own word
    /// has to say what the store was worth.
    #[inline(always)]
    pub const fn guarded_in_sections(
        self,
        guard: *const AtomicUsize,
        expect: usize,
    ) -> At<P, InSections, RELEASE> {
        At { place: self.place, guard: InSections(guard, expect) }
    }
}

impl<P: Copy, G: Copy> At<P, G, false> {
    /// The same with a release commit: whoever sees it sees what this thread did before.
    #[inline(always)]
    pub const fn release(self) -> At<P, G, true> {
        At { place: self.place, guard: self.guard }
    }
}

/// What stands in the place of a CPU, or of a guard.
pub trait Part: Copy {
    #[doc(hidden)]
    const ASKED: bool;
    #[doc(hidden)]
    const SECTIONS_ONLY: bool = false;
    #[doc(hidden)]
    fn cpu(self) -> u32 {
        0
    }
    #[doc(hidden)]
    fn guard(self) -> (*const AtomicUsize, usize) {
        (ptr::null(), 0)
    }
}

impl Part for Any {
    const ASKED: bool = false;
}

impl Part for On {
    const ASKED: bool = true;

    #[inline(always)]
    fn cpu(self) -> u32 {
        self.0
    }
}

impl Part for While {
    const ASKED: bool = true;

    #[inline(always)]
    fn guard(self) -> (*const AtomicUsize, usize) {
        (self.0, self.1)
    }
}

impl Part for InSections {
    const ASKED: bool = true;
    const SECTIONS_ONLY: bool = true;

    #[inline(always)]
    fn guard(self) -> (*const AtomicUsize, usize) {
        (self.0, self.1)
    }
}

impl<P: Part, G: Part, const RELEASE: bool> Form for At<P, G, RELEASE> {
    const ON: bool = P::ASKED;
    const GUARDED: bool = G::ASKED;
    const SECTIONS_ONLY: bool = G::SECTIONS_ONLY;
    const RELEASE: bool = RELEASE;

    #[inline(always)]
    fn cpu(self) -> u32 {
        self.place.cpu()
    }

    #[inline(always)]
    fn guard(self) -> (*const AtomicUsize, usize) {
        self.guard.guard()
    }
}
