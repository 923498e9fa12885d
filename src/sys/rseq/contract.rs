//! What each operation loads, compares and stores, and which store commits.
#![allow(unsafe_code, reason = "declares operations on raw lanes")]

use super::{Form, Int, Pushed, Ring, Word};
use crate::sync::AtomicUsize;

/// A word that guards operations.
pub type Guard = AtomicUsize;

/// The distance between the lanes of an object.
pub trait Stride {
    /// Bytes from one lane's copy to the next one's.
    const BYTES: usize;
}

/// How one attempt, or an operation, ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<T> {
    /// The commit took place, in `lane`.
    Committed {
        /// Where.
        lane: u32,
        /// What the operation returns.
        value: T,
    },
    /// Nothing was stored, because of what `lane` holds: another value than the one
    /// compared with, an empty list, a full stack. `value` is what was found.
    Differs {
        /// Where.
        lane: u32,
        /// The value that was found, or one without a meaning (list, stack).
        value: T,
    },
    /// Nothing was stored: the guard word did not hold the expected value.
    Closed,
    /// Atomics only, words only: the store took place in `lane`, but the guard
    /// changed at the same time. Whoever changed it may have looked at the lane
    /// before the store; the caller takes it back, or tells.
    Late {
        /// Where.
        lane: u32,
        /// What the operation returns.
        value: T,
    },
    /// Nothing was stored: the thread is not, or did not stay, on the CPU asked for.
    Moved,
    /// Atomics only: nothing was stored; another thread holds the lane's lock.
    Busy,
    /// One attempt only: nothing was stored; the thread's CPU is not known.
    Nowhere,
    /// One attempt only: nothing was stored; the kernel cut the section off.
    Aborted,
}

impl<T> Outcome<T> {
    /// Whether an attempt settled the operation.
    #[inline(always)]
    pub const fn is_settled(&self) -> bool {
        !matches!(self, Self::Nowhere | Self::Aborted)
    }

    /// The same outcome with another value.
    #[inline(always)]
    pub(super) fn map<U>(self, of: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Committed { lane, value } => Outcome::Committed { lane, value: of(value) },
            Self::Differs { lane, value } => Outcome::Differs { lane, value: of(value) },
            Self::Late { lane, value } => Outcome::Late { lane, value: of(value) },
            Self::Closed => Outcome::Closed,
            Self::Moved => Outcome::Moved,
            Self::Busy => Outcome::Busy,
            Self::Nowhere => Outcome::Nowhere,
            Self::Aborted => Outcome::Aborted,
        }
    }
}

/// What lists, stacks, copies and rings commit to; and the lock that stands for a section.
///
/// All zero is an empty list or stack, unlocked. `word` is 0 or a node's address for
/// a list, the number of filled slots for a stack, any index for a copy.
#[repr(C)]
#[derive(Debug)]
pub struct Anchor {
    /// What sections commit to.
    pub word: AtomicUsize,
    /// 1 while a thread works on the lane with atomics; sections never look at it.
    pub lock: AtomicUsize,
}

impl Anchor {
    /// An anchor whose word is `word`.
    pub fn new(word: usize) -> Self {
        Self { word: AtomicUsize::new(word), lock: AtomicUsize::new(0) }
    }
}

/// A bounded stack of words: `capacity` slots, `slots` bytes behind the anchor.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Lane 0's anchor; its word counts the filled slots.
    pub anchor: *mut Anchor,
    /// Distance from the anchor to the first slot, in bytes; the same in each lane.
    pub slots: usize,
    /// How many slots there are.
    pub capacity: usize,
}

/// Bytes to copy into a lane, and the index that makes them seen.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    /// The first byte to copy, in memory of the caller's own.
    pub from: *const u8,
    /// How many; a section should be short, so no more than a few kilobytes.
    pub len: usize,
    /// Where they go: distance from the anchor, in bytes.
    pub to: usize,
    /// The index that the anchor's word must hold.
    pub expect: usize,
    /// The index to commit.
    pub commit: usize,
}

/// Which arithmetic [`Words::update`] does.
pub mod update {
    /// Wrapping addition.
    pub const ADD: u32 = 0;
    /// Bitwise and.
    pub const AND: u32 = 1;
    /// Bitwise or.
    pub const OR: u32 = 2;
    /// Bitwise exclusive or.
    pub const XOR: u32 = 3;
}

/// The operations: one attempt at each.
///
/// Every operation begins with the same steps, and has no effect unless it gets
/// through them:
///
/// ```text
/// lane = the CPU this thread is on       -> Nowhere if that is not a CPU lane
///                                           (expected-CPU form: Moved if it is not that CPU)
/// guarded form: load *guard              -> Closed if that is not the expected value
///                                           (by atomics: unless the guard is for sections alone)
/// p = pointer + lane * S::BYTES
/// ```
///
/// What follows is written with each. The operation is done with its last step, `commit`, and not
/// before; its other stores are to what nobody looks at until then. Being cut off: `Aborted`.
///
/// # Safety of every method
///
/// * The pointer leads to lane 0's copy. In each lane that the operation can act on
///   (the CPU lanes; for [`Atomic`](super::Atomic) the lane it was made for) a live
///   copy lies `lane * S::BYTES` further on, and with it what the operation reaches
///   from there (slots, nodes, bytes).
/// * While sections run on the lanes nothing else stores to a CPU lane; loads are atomic.
/// * The guard is valid for atomic loads.
pub trait Contract: Words + Anchored {}

impl<T: Words + Anchored> Contract for T {}

/// Operations on one word.
pub trait Words: Copy {
    /// ```text
    /// commit *p += value
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    unsafe fn add<S: Stride, W: Int, F: Form>(self, word: *mut W, value: W, form: F)
    -> Outcome<()>;

    /// ```text
    /// old = *p
    /// commit *p = old OP value     returns old
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`]. `OP` is one of the constants in [`update`].
    unsafe fn update<S: Stride, W: Int, F: Form, const OP: u32>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<W>;

    /// ```text
    /// old = *p
    /// commit *p = value            returns old
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    unsafe fn swap<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<W>;

    /// ```text
    /// old = *p                     -> Differs(old) unless old == expect
    /// commit *p = value            returns old
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    unsafe fn compare_store<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        expect: W,
        value: W,
        form: F,
    ) -> Outcome<W>;
}

/// Operations that commit to an [`Anchor`].
pub trait Anchored: Copy {
    /// ```text
    /// head = p.word
    /// *(node + next) = head        the node is still the caller's
    /// commit p.word = node         returns head (0: the list was empty)
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`]. The word at `node + next` is writable and the caller's own;
    /// after the commit the node belongs to the list.
    unsafe fn list_push<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        node: *mut u8,
        next: usize,
        form: F,
    ) -> Outcome<usize>;

    /// As [`list_push`](Self::list_push), on a list whose nodes count those below them.
    ///
    /// ```text
    /// head = p.word
    /// depth = if head != 0 { *(head + next + WORD) as u32 } else { 0 }
    ///                              -> Differs unless depth < capacity
    /// *(node + next) = head        the node is still the caller's
    /// *(node + next + WORD) as u32 = depth + 1
    /// commit p.word = node         returns head (0: the list was empty)
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`] and [`list_push`](Self::list_push); `WORD` is a pointer's size. The four
    /// bytes there are writable, too, and those of every node in the list say how many nodes lie
    /// below it, itself included.
    unsafe fn list_push_within<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        node: *mut u8,
        next: usize,
        capacity: u32,
        form: F,
    ) -> Outcome<usize>;

    /// ```text
    /// head = p.word                -> Differs if 0
    /// rest = *(head + next)
    /// commit p.word = rest         returns head
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`]. Every node was pushed with the same `next`, and stays readable
    /// for as long as it can be in the list.
    unsafe fn list_pop<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        next: usize,
        form: F,
    ) -> Outcome<usize>;

    /// ```text
    /// head = p.word                -> Differs if 0
    /// commit p.word = 0            returns head: the whole list
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    unsafe fn list_take<S: Stride, F: Form>(self, anchor: *mut Anchor, form: F) -> Outcome<usize>;

    /// ```text
    /// n = p.word                   -> Differs unless n < capacity
    /// p.slot[n] = value            beyond the index, so nobody's
    /// commit p.word = n + 1        returns n
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    unsafe fn stack_push<S: Stride, F: Form>(
        self,
        stack: Stack,
        value: usize,
        form: F,
    ) -> Outcome<usize>;

    /// ```text
    /// n = p.word                   -> Differs if 0
    /// value = p.slot[n - 1]
    /// commit p.word = n - 1        returns value
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`].
    unsafe fn stack_pop<S: Stride, F: Form>(self, stack: Stack, form: F) -> Outcome<usize>;

    /// ```text
    /// n = p.word                   -> Differs unless n < capacity
    /// k = min(count, capacity - n) -> Differs if 0
    /// p.slot[n .. n + k] = from[.. k]
    /// commit p.word = n + k        returns k
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`]. `from` is readable for `count` words.
    unsafe fn stack_push_batch<S: Stride, F: Form>(
        self,
        stack: Stack,
        from: *const usize,
        count: usize,
        form: F,
    ) -> Outcome<usize>;

    /// ```text
    /// n = p.word
    /// k = min(count, n)            -> Differs if 0
    /// to[.. k] = p.slot[n - k .. n]
    /// commit p.word = n - k        returns k
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`]. `to` is writable for `count` words and the caller's own.
    unsafe fn stack_pop_batch<S: Stride, F: Form>(
        self,
        stack: Stack,
        to: *mut usize,
        count: usize,
        form: F,
    ) -> Outcome<usize>;

    /// ```text
    /// index = p.word               -> Differs(index) unless index == expect
    /// (p + to)[.. len] = from[.. len]
    /// commit p.word = commit       returns index
    /// ```
    ///
    /// The caller read `expect` before, and worked out from it where the bytes go: use the
    /// expected-CPU form, or two lanes with one index are confused.
    ///
    /// # Safety
    ///
    /// See [`Contract`]. In a lane whose index is `expect` the `len` bytes at `to` are
    /// free; `from` is readable for `len` bytes.
    unsafe fn copy<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        bytes: Copied,
        form: F,
    ) -> Outcome<usize>;

    /// With indices as in [`Ring`]:
    ///
    /// ```text
    /// index = p.word
    /// ring = rings[lane]           -> Differs(index) unless acquire(ring.limit) - index >= step
    /// at = ring.place(index)
    /// at[.. 16] = header           beyond the index, so nobody's
    /// at[16 ..] = from[.. len]
    /// commit p.word = index + step returns index
    /// ```
    ///
    /// # Safety
    ///
    /// See [`Contract`]. Each lane has a [`Ring`]; `from` is readable, `step` covers header and bytes.
    unsafe fn ring_push<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        rings: *const Ring,
        record: Pushed,
        form: F,
    ) -> Outcome<usize>;
}
