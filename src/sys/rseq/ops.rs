//! The entry points: a section, the section again, and the spill lane.
//!
//! With sections, an operation is tried in one, inlined into the caller. If that does
//! not settle it, a cold function tries again, and goes to the spill lane when the
//! kernel does not tell the CPU or when [`ATTEMPTS`] sections in a row were cut off.
//! Without sections it is done by atomics, on the lane that seems to be the thread's.
#![allow(unsafe_code, reason = "passes the callers' obligations on")]

use super::super::{cpu_hint, cpus, thread_hash};
#[cfg(corelocal_tsan)]
use super::annotate;
use super::arch::Sections;
use super::{Anchor, Anchored, Atomic, Contract, Copied, Form, Hot, Int, Outcome, Pushed, Ring};
use super::{Stack, Stride, Word, Words, register};
use crate::sync::Ordering;
use crate::sync::plain::AtomicUsize;

/// Sections that may be cut off in a row before an operation gives up on its CPU.
///
/// A thread that runs at all gets through in one or two. A debugger's single steps, or
/// a signal every microsecond, cut off every one.
pub const ATTEMPTS: u32 = 64;

static ABORTS: AtomicUsize = AtomicUsize::new(0);
static SPILLS: AtomicUsize = AtomicUsize::new(0);

/// What sections did not do at the first attempt, since the process began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Detours {
    /// Sections that the kernel cut off.
    pub aborts: usize,
    /// Operations that went to the spill lane.
    pub spills: usize,
}

/// The process's counts; wrapping.
pub fn detours() -> Detours {
    // Relaxed: statistics.
    Detours { aborts: ABORTS.load(Ordering::Relaxed), spills: SPILLS.load(Ordering::Relaxed) }
}

/// One operation with its operands.
trait Op: Copy {
    type Out;
    /// What it commits to.
    #[cfg(corelocal_tsan)]
    type Target: annotate::Target;

    #[cfg(corelocal_tsan)]
    fn target(self) -> Self::Target;

    /// # Safety
    ///
    /// See [`Contract`].
    unsafe fn attempt<S: Stride, C: Contract, F: Form>(self, on: C, form: F) -> Outcome<Self::Out>;
}

/// The whole contract, settled: what the rest of the crate calls.
///
/// The lanes are the CPU lanes, and the spill lane that `.0` tells the number of when it is
/// needed. An entry never answers `Nowhere` or `Aborted`.
#[derive(Clone, Copy, Debug)]
pub struct Entry<L>(pub L);

impl<L: Fn() -> u32 + Copy> Entry<L> {
    /// # Safety
    ///
    /// See [`Contract`].
    #[inline(always)]
    unsafe fn run<S: Stride, O: Op, F: Form>(self, op: O, form: F) -> Outcome<O::Out> {
        #[cfg(feature = "testing")]
        if let Some(pretended) = super::super::seam::cpu_id() {
            // SAFETY:
            // - the caller's obligations are the same.
            return unsafe { self.pretend::<S, O, F>(op, form, pretended) };
        }
        let Some(hot) = Hot::load() else {
            // A copy, so that operands lie in memory on this path alone.
            let slow = op;
            // SAFETY:
            // - the caller's obligations are the same.
            return unsafe { self.lower::<S, O, F>(&slow, form) };
        };
        if F::ON && form.cpu() >= hot.limit {
            return Outcome::Moved;
        }
        #[cfg(feature = "testing")]
        super::inject::begin();
        // SAFETY:
        // - the caller's obligations are the same.
        let outcome = unsafe { section::<S, O, F>(op, hot, form) };
        // Elsewhere, or only not registered yet? (The feature `register`.)
        let is_early = F::ON && matches!(outcome, Outcome::Moved) && register::can_join();
        if outcome.is_settled() && !is_early {
            return outcome;
        }
        // A copy, as above.
        let slow = op;
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.again::<S, O, F>(&slow, form) }
    }

    /// After a first attempt that settled nothing. It says not why, so that the hot path has one
    /// test: if the thread has a CPU now, that attempt was cut off, or the thread was registered
    /// just now.
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    #[cold]
    #[inline(never)]
    unsafe fn again<S: Stride, O: Op, F: Form>(self, op: &O, form: F) -> Outcome<O::Out> {
        let mut cut_off = !register::join();
        for _ in 1..ATTEMPTS {
            let Some(hot) = Hot::load() else { break };
            // SAFETY:
            // - the caller's obligations are the same.
            let outcome = unsafe { section::<S, O, F>(*op, hot, form) };
            if matches!(outcome, Outcome::Nowhere) {
                break;
            }
            if cut_off {
                // Relaxed: statistics; the abort before this attempt.
                ABORTS.fetch_add(1, Ordering::Relaxed);
            }
            cut_off = true;
            if outcome.is_settled() {
                return outcome;
            }
        }
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.spill::<S, O, F>(*op, form) }
    }

    /// # Safety
    ///
    /// See [`Contract`].
    #[cold]
    unsafe fn spill<S: Stride, O: Op, F: Form>(self, op: O, form: F) -> Outcome<O::Out> {
        if F::ON {
            // The spill lane is no CPU's; cut off to the end, the thread did not stay on one.
            return Outcome::Moved;
        }
        // Relaxed: statistics.
        SPILLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY:
        // - the caller's obligations are the same; atomics alone store to this lane.
        unsafe { op.attempt::<S, _, F>(Atomic::on_lane((self.0)()), form) }
    }

    /// Without sections: every store to any lane is atomic.
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    #[inline(never)]
    unsafe fn lower<S: Stride, O: Op, F: Form>(self, op: &O, form: F) -> Outcome<O::Out> {
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.lower_on::<S, O, F>(*op, form, cpu_hint()) }
    }

    /// # Safety
    ///
    /// See [`Contract`].
    #[inline]
    unsafe fn lower_on<S: Stride, O: Op, F: Form>(
        self,
        op: O,
        form: F,
        cpu: Option<u32>,
    ) -> Outcome<O::Out> {
        let cpus = cpus();
        let lane = match cpu {
            Some(id) if id < cpus => id,
            Some(_) => (self.0)(),
            None => (thread_hash() % cpus as usize) as u32,
        };
        // A CPU that was added later has no lane: the spill lane is no CPU's.
        if F::ON && (cpu != Some(form.cpu()) || form.cpu() >= cpus) {
            return Outcome::Moved;
        }
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { op.attempt::<S, _, F>(Atomic::on_lane(lane), form) }
    }

    /// On a CPU that a test makes up: with sections, in its lane only while the thread really is
    /// there, else where a thread without a CPU goes. What is cut off begins again, as elsewhere.
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    #[cfg(feature = "testing")]
    #[cold]
    unsafe fn pretend<S: Stride, O: Op, F: Form>(
        self,
        op: O,
        form: F,
        cpu: Option<u32>,
    ) -> Outcome<O::Out> {
        let Some(hot) = Hot::load() else {
            // SAFETY:
            // - the caller's obligations are the same.
            return unsafe { self.lower_on::<S, O, F>(op, form, cpu) };
        };
        let is_there = || cpu.is_some() && cpu == super::super::machine_hint();
        if !(F::ON && cpu != Some(form.cpu())) && is_there() {
            super::inject::begin();
            for _ in 0..ATTEMPTS {
                // SAFETY:
                // - the caller's obligations are the same.
                let outcome = unsafe { section::<S, O, F>(op, hot, form) };
                if outcome.is_settled() {
                    return outcome;
                }
                if !is_there() {
                    break;
                }
            }
        }
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.spill::<S, O, F>(op, form) }
    }
}

/// One section.
///
/// # Safety
///
/// See [`Contract`].
#[cfg(corelocal_tsan)]
unsafe fn section<S: Stride, O: Op, F: Form>(op: O, hot: Hot, form: F) -> Outcome<O::Out> {
    annotate::before::<S, _, F>(op.target(), form, hot.limit);
    // SAFETY:
    // - the caller's obligations are the same.
    let outcome = unsafe { bare_section::<S, O, F>(op, hot, form) };
    annotate::after::<S, _, F, _>(op.target(), &outcome);
    outcome
}

#[cfg(not(corelocal_tsan))]
use bare_section as section;

/// One section, held up if a test asks for it.
///
/// # Safety
///
/// See [`Contract`].
#[inline(always)]
unsafe fn bare_section<S: Stride, O: Op, F: Form>(op: O, hot: Hot, form: F) -> Outcome<O::Out> {
    let sections = Sections::new(hot);
    #[cfg(feature = "testing")]
    if let Some(points) = super::inject::armed() {
        // SAFETY:
        // - the caller's obligations are the same.
        return unsafe { op.attempt::<S, _, F>(sections.held(points), form) };
    }
    // SAFETY:
    // - the caller's obligations are the same.
    unsafe { op.attempt::<S, _, F>(sections, form) }
}

/// Makes the methods of one trait, and a type for the operands of each.
macro_rules! entry {
    ($Trait:ident: $(
        $name:ident, $Op:ident<$($W:ident: $bound:path)?>, $(const $OP:ident,)?
        ($first:ident: $Target:ty $(, $operand:ident: $type:ty)*) -> $out:ty;
    )*) => {
        $(
            #[derive(Clone, Copy)]
            struct $Op<$($W: $bound,)? $(const $OP: u32)?> { $first: $Target $(, $operand: $type)* }

            impl<$($W: $bound,)? $(const $OP: u32)?> Op for $Op<$($W,)? $($OP)?> {
                type Out = $out;
                #[cfg(corelocal_tsan)]
                type Target = $Target;

                #[cfg(corelocal_tsan)]
                fn target(self) -> $Target {
                    self.$first
                }

                #[inline(always)]
                unsafe fn attempt<S: Stride, C: Contract, F: Form>(
                    self,
                    on: C,
                    form: F,
                ) -> Outcome<$out> {
                    // SAFETY:
                    // - the caller's obligations are the same.
                    unsafe { on.$name::<S, $($W,)? F, $($OP)?>(self.$first, $(self.$operand,)* form) }
                }
            }
        )*

        impl<L: Fn() -> u32 + Copy> $Trait for Entry<L> {
            $(
                #[inline(always)]
                unsafe fn $name<S: Stride, $($W: $bound,)? F: Form, $(const $OP: u32)?>(
                    self,
                    $first: $Target,
                    $($operand: $type,)*
                    form: F,
                ) -> Outcome<$out> {
                    let op = $Op::<$($W,)? $($OP)?> { $first $(, $operand)* };
                    // SAFETY:
                    // - the caller's obligations are the same.
                    unsafe { self.run::<S, _, F>(op, form) }
                }
            )*
        }
    };
}

entry! { Words:
    add, Add<W: Int>, (word: *mut W, value: W) -> ();
    update, Update<W: Int>, const OP, (word: *mut W, value: W) -> W;
    swap, Swap<W: Word>, (word: *mut W, value: W) -> W;
    compare_store, CompareStore<W: Word>, (word: *mut W, expect: W, value: W) -> W;
}

entry! { Anchored:
    list_push, ListPush<>, (anchor: *mut Anchor, node: *mut u8, next: usize) -> usize;
    list_push_within, ListPushWithin<>,
        (anchor: *mut Anchor, node: *mut u8, next: usize, capacity: u32) -> usize;
    list_pop, ListPop<>, (anchor: *mut Anchor, next: usize) -> usize;
    list_take, ListTake<>, (anchor: *mut Anchor) -> usize;
    stack_push, StackPush<>, (stack: Stack, value: usize) -> usize;
    stack_pop, StackPop<>, (stack: Stack) -> usize;
    stack_push_batch, StackPushBatch<>, (stack: Stack, from: *const usize, count: usize) -> usize;
    stack_pop_batch, StackPopBatch<>, (stack: Stack, to: *mut usize, count: usize) -> usize;
    copy, CopyIn<>, (anchor: *mut Anchor, bytes: Copied) -> usize;
    ring_push, RingPush<>, (anchor: *mut Anchor, rings: *const Ring, record: Pushed) -> usize;
}
