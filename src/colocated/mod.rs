//! Co-location: things that one CPU uses together lie together, at constant offsets.
//!
//! [`CoLocated`] puts up to three values side by side, [`colocated!`](crate::colocated!) defines a
//! struct of any number of named parts, and [`Part`] is a pointer to one part that can get back to
//! the whole: a typed, safe `container_of` that costs one subtraction.
//!
//! ```
//! use corelocal::colocated;
//! use corelocal::colocated::Part;
//!
//! #[derive(Default)]
//! pub struct CfsRq { pub running: u32 }
//! #[derive(Default)]
//! pub struct SchedEntity { pub weight: u64 }
//!
//! colocated! {
//!     /// A group's state on one CPU.
//!     #[derive(Default)]
//!     pub struct CfsTgState { pub cfs_rq: CfsRq, pub se: SchedEntity }
//! }
//!
//! let state = CfsTgState { se: SchedEntity { weight: 1024 }, ..Default::default() };
//! let queue: Part<'_, CfsTgState, CfsRq> = state.cfs_rq();
//! assert_eq!(queue.running, 0);                  // a `Part` derefs to its part,
//! assert_eq!(queue.whole().se.weight, 1024);     // knows the whole,
//! assert_eq!(queue.sibling::<1>().weight, 1024); // and the other parts
//! ```

#![allow(unsafe_code, reason = "pointers to parts that keep the whole's provenance")]

mod named;
mod part;
mod placement;
mod zeroed;

use core::fmt;
use core::mem::{offset_of, size_of};
use core::ptr::NonNull;

use crate::field;
use crate::field::Field;

pub use part::{HasPart, Part};
pub use placement::{Apart, Odd, Placement, Together, odd_padding};

/// Up to three values side by side, in this order, with the first at offset 0.
///
/// The layout is that of a `repr(C)` struct: each part lies at the next multiple of its alignment,
/// so order the parts by use. Nothing is added for cache lines, unless the [`Placement`] `P` says
/// so: [`Together`] (the default), [`Apart`] (each part on lines of its own), and [`Odd`] of either
/// (an odd number of lines). That the parts lie so is proved when the type is used
/// ([`PLACED`](Self::PLACED)); other placements than the default are made with
/// [`placed`](Self::placed).
///
/// There is no `Deref` to a part: it would hide which part a field belongs to, and a pointer made
/// from a plain `&A` cannot get back to the whole (see [`from_a`](Self::from_a)). [`Part`] can.
///
/// ```
/// use corelocal::colocated::CoLocated;
///
/// struct Queue { running: u32 }
/// struct Entity { weight: u64 }
///
/// let mut state = CoLocated::new(Queue { running: 3 }, Entity { weight: 1024 }, ());
/// state.b_mut().weight /= 2;
/// assert_eq!((state.a().running, state.b().weight), (3, 512));
/// assert_eq!(CoLocated::<Queue, Entity>::OFFSET_B, 8);
///
/// let queue = state.part_a();
/// assert_eq!(queue.whole().b().weight, 512);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct CoLocated<A, B = (), C = (), P: Placement = Together> {
    a: A,
    _ab: P::Between,
    b: B,
    _bc: P::Between,
    c: C,
    _behind: P::Behind,
}

impl<A, B, C> CoLocated<A, B, C> {
    /// Puts three values side by side; `()` takes no room.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// // Also in statics and constants.
    /// static DEFAULTS: CoLocated<u32, u64> = CoLocated::new(8, 1024, ());
    /// assert_eq!((*DEFAULTS.a(), *DEFAULTS.b()), (8, 1024));
    /// assert_eq!(size_of_val(&DEFAULTS), 16); // the third part takes no room
    /// ```
    #[inline]
    pub const fn new(a: A, b: B, c: C) -> Self {
        Self::placed(a, b, c)
    }
}

impl<A, B, C, P: Placement> CoLocated<A, B, C, P> {
    /// The first part's offset in bytes: always 0.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// type State = CoLocated<u32, u64>;
    /// let state = State::new(1, 2, ());
    /// assert_eq!(State::OFFSET_A, 0); // so a pointer to the whole is one to its first part
    /// assert_eq!((&raw const state).cast(), &raw const *state.a());
    /// ```
    pub const OFFSET_A: usize = {
        assert!(offset_of!(Self, a) == 0);
        0
    };
    /// The second part's offset in bytes.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// type State = CoLocated<[u64; 5], u64>;
    /// const { assert!(State::OFFSET_B == 40, "the second part follows the first") };
    /// ```
    pub const OFFSET_B: usize = offset_of!(Self, b);
    /// The third part's offset in bytes.
    ///
    /// ```
    /// # use corelocal::{CACHE_LINE, CoLocated};
    /// // All that a wake-up needs lies on the first line.
    /// type State = CoLocated<[u64; 3], u64, u32>;
    /// const { assert!(State::OFFSET_C + size_of::<u32>() <= CACHE_LINE) };
    /// ```
    pub const OFFSET_C: usize = offset_of!(Self, c);

    /// The first part's token: `handle.at(CoLocated::PART_A)`.
    ///
    /// ```
    /// # use corelocal::{CoLocated, PerCpu, PerCpuCell};
    /// type State = CoLocated<PerCpuCell<u32>, PerCpuCell<u64>>;
    /// let states = PerCpu::<State>::zeroed();
    /// states.at(State::PART_A).inc();
    /// assert_eq!(states.at(State::PART_A).sum(), 1);
    /// ```
    pub const PART_A: Field<Self, A> = field!(Self, a);
    /// The second part's token.
    ///
    /// ```
    /// # use corelocal::{CoLocated, PerCpu, PerCpuCell, PerCpuRef};
    /// type State = CoLocated<PerCpuCell<u32>, PerCpuCell<u64>>;
    /// let states = PerCpu::<State>::zeroed();
    /// let weights: PerCpuRef<'_, PerCpuCell<u64>, State> = states.at(State::PART_B); // one word
    /// weights.add(1024);
    /// assert_eq!((weights.sum(), states.at(State::PART_A).sum()), (1024, 0));
    /// ```
    pub const PART_B: Field<Self, B> = field!(Self, b);
    /// The third part's token.
    ///
    /// ```
    /// # use corelocal::{CoLocated, PerCpu, PerCpuCell, counters};
    /// counters! { struct Stats { waits: u64 } }
    /// type State = CoLocated<PerCpuCell<u32>, (), Stats>;
    ///
    /// let states = PerCpu::<State>::zeroed();
    /// states.at(State::PART_C.then(Stats::WAITS)).inc(); // a field of a part
    /// assert_eq!(states.at(State::PART_C).snapshot().waits, 1);
    /// ```
    pub const PART_C: Field<Self, C> = field!(Self, c);

    /// The first part.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let state = CoLocated::new("queue", 1024_u64, ());
    /// assert_eq!(state.a().len(), 5);
    /// ```
    #[inline]
    pub const fn a(&self) -> &A {
        &self.a
    }

    /// The second part.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// // Parts are shared like any value: what threads change is atomic.
    /// let state = CoLocated::new("queue", AtomicU64::new(0), ());
    /// state.b().fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(state.b().load(Ordering::Relaxed), 1);
    /// ```
    #[inline]
    pub const fn b(&self) -> &B {
        &self.b
    }

    /// The third part.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let state = CoLocated::new(0_u32, 1024_u64, ["wait", "run"]);
    /// assert_eq!(state.c()[1], "run");
    /// ```
    #[inline]
    pub const fn c(&self) -> &C {
        &self.c
    }

    /// The first part, to change.
    ///
    /// ```
    /// # use corelocal::{CoLocated, PerCpu};
    /// let mut queues = PerCpu::new(|lane| CoLocated::new(Vec::new(), lane, ()));
    /// for (lane, state) in &mut queues {
    ///     state.a_mut().push(lane.index());
    /// }
    /// assert_eq!(queues.spill().a(), &[queues.spill().b().index()]);
    /// ```
    #[inline]
    pub const fn a_mut(&mut self) -> &mut A {
        &mut self.a
    }

    /// The second part, to change.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let mut state = CoLocated::new("queue", 1024_u64, ());
    /// *state.b_mut() /= 2;
    /// assert_eq!(*state.b(), 512);
    /// ```
    #[inline]
    pub const fn b_mut(&mut self) -> &mut B {
        &mut self.b
    }

    /// The third part, to change.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let mut state = CoLocated::new("queue", 1024_u64, vec![3]);
    /// state.c_mut().push(4);
    /// assert_eq!(state.c(), &[3, 4]);
    /// ```
    #[inline]
    pub const fn c_mut(&mut self) -> &mut C {
        &mut self.c
    }

    /// All parts at once, to change.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let mut state = CoLocated::new(vec![5, 7], 0_u64, ());
    /// let (queue, weight, ()) = state.parts_mut(); // `a_mut` and `b_mut` borrow the whole
    /// *weight += queue.pop().unwrap();
    /// assert_eq!((state.a().len(), *state.b()), (1, 7));
    /// ```
    #[inline]
    pub const fn parts_mut(&mut self) -> (&mut A, &mut B, &mut C) {
        (&mut self.a, &mut self.b, &mut self.c)
    }

    /// Takes the parts out.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let state = CoLocated::new(vec![1, 2], String::from("group"), ());
    /// let (queue, name, ()) = state.into_parts(); // moved, not cloned
    /// assert_eq!((queue.len(), name.as_str()), (2, "group"));
    /// ```
    #[inline]
    pub fn into_parts(self) -> (A, B, C) {
        (self.a, self.b, self.c)
    }

    /// The first part, by a pointer that knows the whole.
    ///
    /// ```
    /// # use corelocal::{CoLocated, Part};
    /// struct Queue { running: u32 }
    /// type State = CoLocated<Queue, u64>;
    ///
    /// /// Knows queues; gets at what lies beside them all the same.
    /// fn load(queue: Part<'_, State, Queue>) -> u64 {
    ///     u64::from(queue.running) * queue.whole().b()
    /// }
    /// assert_eq!(load(CoLocated::new(Queue { running: 3 }, 1024, ()).part_a()), 3072);
    /// ```
    #[inline]
    pub fn part_a(&self) -> Part<'_, Self, A, 0> {
        Part::new(self)
    }

    /// The second part, by a pointer that knows the whole.
    ///
    /// ```
    /// # use corelocal::{CoLocated, Part};
    /// type State = CoLocated<&'static str, u64>;
    /// let states = [State::new("build", 512, ()), State::new("web", 1024, ())];
    /// let heaviest: Part<'_, State, u64, 1> = states.iter().map(State::part_b).max_by_key(|w| **w).unwrap();
    /// assert_eq!(*heaviest.whole().a(), "web");
    /// ```
    #[inline]
    pub fn part_b(&self) -> Part<'_, Self, B, 1> {
        Part::new(self)
    }

    /// The third part, by a pointer that knows the whole.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let state = CoLocated::new(1_u8, 2_u16, [3_u32, 4]);
    /// let last = state.part_c();
    /// assert_eq!((last[1], *last.sibling::<0>()), (4, 1));
    /// ```
    #[inline]
    pub fn part_c(&self) -> Part<'_, Self, C, 2> {
        Part::new(self)
    }
}

/// Raw pointers: the same ways in and out, for links that no lifetime can describe.
impl<A, B, C, P: Placement> CoLocated<A, B, C, P> {
    /// A pointer to the first part that may be used for the whole (see [`from_a`](Self::from_a)).
    ///
    /// # Safety
    ///
    /// `whole` must point into an allocation that holds a `Self` there; it may be uninitialised.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// # use std::ptr::NonNull;
    /// /// A list of queues, each within a `State`: links that no lifetime describes.
    /// struct Queue { next: Option<NonNull<Queue>> }
    /// type State = CoLocated<Queue, u64>;
    ///
    /// let mut second = State::new(Queue { next: None }, 2, ());
    /// // SAFETY: `second` is a live `State`.
    /// let link = unsafe { State::a_ptr(NonNull::from(&mut second)) };
    /// let first = State::new(Queue { next: Some(link) }, 1, ());
    /// // SAFETY: the link was made by `a_ptr`, and `second` lives.
    /// let behind = unsafe { State::from_a(first.a().next.unwrap()).as_ref() };
    /// assert_eq!(*behind.b(), 2);
    /// ```
    #[inline]
    pub const unsafe fn a_ptr(whole: NonNull<Self>) -> NonNull<A> {
        // SAFETY: the caller's promise, and `PART_A` is a part of `Self`.
        unsafe { part_of(whole, Self::PART_A) }
    }

    /// A pointer to the second part that may be used for the whole (see [`from_b`](Self::from_b)).
    ///
    /// # Safety
    ///
    /// As [`a_ptr`](Self::a_ptr).
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// # use std::{mem::MaybeUninit, ptr::NonNull};
    /// type State = CoLocated<u32, u64>;
    ///
    /// // A place that is filled part by part.
    /// let mut place = MaybeUninit::<State>::uninit();
    /// let whole = NonNull::new(place.as_mut_ptr()).unwrap();
    /// // SAFETY: the whole is allocated, and each part is written at its own place.
    /// unsafe { State::a_ptr(whole).write(3) };
    /// // SAFETY: as above.
    /// unsafe { State::b_ptr(whole).write(1024) };
    /// // SAFETY: both parts were written; the third has no bytes, and nor has what lies between.
    /// assert_eq!(unsafe { whole.as_ref() }.b(), &1024);
    /// ```
    #[inline]
    pub const unsafe fn b_ptr(whole: NonNull<Self>) -> NonNull<B> {
        // SAFETY: the caller's promise, and `PART_B` is a part of `Self`.
        unsafe { part_of(whole, Self::PART_B) }
    }

    /// A pointer to the third part that may be used for the whole (see [`from_c`](Self::from_c)).
    ///
    /// # Safety
    ///
    /// As [`a_ptr`](Self::a_ptr).
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// # use std::ptr::NonNull;
    /// type State = CoLocated<u8, u16, u32>;
    /// let mut state = State::new(1, 2, 3);
    /// // SAFETY: `state` is live.
    /// let c = unsafe { State::c_ptr(NonNull::from(&mut state)) };
    /// // SAFETY: it lives, and nobody else uses it.
    /// unsafe { c.write(30) };
    /// assert_eq!(state.c(), &30);
    /// ```
    #[inline]
    pub const unsafe fn c_ptr(whole: NonNull<Self>) -> NonNull<C> {
        // SAFETY: the caller's promise, and `PART_C` is a part of `Self`.
        unsafe { part_of(whole, Self::PART_C) }
    }

    /// The whole around a first part. What the result may be used for is what the pointer that
    /// `a` was made from may be used for.
    ///
    /// ```
    /// use corelocal::colocated::CoLocated;
    /// use std::ptr::NonNull;
    ///
    /// type Pair = CoLocated<u8, u64>;
    /// let mut pair = Pair::new(1, 2, ());
    /// let whole = NonNull::from(&mut pair);
    /// // SAFETY: `whole` points to a live pair.
    /// let a = unsafe { Pair::a_ptr(whole) };
    /// // SAFETY: `a` was made by `a_ptr` from a pointer to the whole pair, which is still live.
    /// let again = unsafe { Pair::from_a(a) };
    /// assert_eq!(again, whole);
    /// ```
    ///
    /// # Safety
    ///
    /// `a` must point to the first part of a `Self`, and it must carry the whole's provenance: it
    /// comes from [`a_ptr`](Self::a_ptr), from [`Part::as_non_null`], or otherwise from a pointer
    /// to the whole by arithmetic alone. **A pointer made from a plain `&A` or `&mut A` must not be
    /// given**, not even one that [`a`](Self::a) returned: such a reference covers the bytes of
    /// the `A` only, and to reach the other parts through it is undefined behaviour (under Stacked
    /// Borrows, which the compiler may come to rely on), although it will seem to work.
    #[inline]
    pub const unsafe fn from_a(a: NonNull<A>) -> NonNull<Self> {
        // SAFETY: the caller's promise.
        unsafe { whole_of(a, Self::PART_A) }
    }

    /// The whole around a second part; see [`from_a`](Self::from_a).
    ///
    /// # Safety
    ///
    /// As [`from_a`](Self::from_a), for the second part: a pointer made from a plain `&B` or
    /// `&mut B` must not be given.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// # use std::ptr::NonNull;
    /// type State = CoLocated<&'static str, u64>;
    /// let mut state = State::new("group", 1024, ());
    /// // SAFETY: `state` is live.
    /// let weight: NonNull<u64> = unsafe { State::b_ptr(NonNull::from(&mut state)) };
    /// // SAFETY: made by `b_ptr` from a pointer to the whole, which lives.
    /// let group = unsafe { State::from_b(weight).as_ref() };
    /// assert_eq!(*group.a(), "group");
    /// ```
    #[inline]
    pub const unsafe fn from_b(b: NonNull<B>) -> NonNull<Self> {
        // SAFETY: the caller's promise.
        unsafe { whole_of(b, Self::PART_B) }
    }

    /// The whole around a third part; see [`from_a`](Self::from_a).
    ///
    /// # Safety
    ///
    /// As [`from_a`](Self::from_a), for the third part: a pointer made from a plain `&C` or
    /// `&mut C` must not be given.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// // `Part::as_non_null` is the other way to a pointer that may be used for the whole.
    /// type State = CoLocated<u8, u16, u32>;
    /// let state = State::new(1, 2, 3);
    /// let c = state.part_c().as_non_null();
    /// // SAFETY: the pointer covers the whole, which lives and is only read.
    /// assert_eq!(unsafe { State::from_c(c).as_ref() }.a(), &1);
    /// ```
    #[inline]
    pub const unsafe fn from_c(c: NonNull<C>) -> NonNull<Self> {
        // SAFETY: the caller's promise.
        unsafe { whole_of(c, Self::PART_C) }
    }
}

/// The sizes only: a part may be another thread's to change.
impl<A, B, C, P: Placement> fmt::Debug for CoLocated<A, B, C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoLocated")
            .field("size", &size_of::<Self>())
            .field("a", &size_of::<A>())
            .field("b", &size_of::<B>())
            .field("c", &size_of::<C>())
            .finish()
    }
}

/// From the whole to a part. The result has `whole`'s provenance: arithmetic keeps it, and no
/// reference to the part alone is made on the way.
///
/// # Safety
///
/// `whole` must point into an allocation that holds a `W` there, initialised or not.
#[inline]
const unsafe fn part_of<W, F>(whole: NonNull<W>, part: Field<W, F>) -> NonNull<F> {
    // SAFETY: a token's offset is at most `size_of::<W>()`, and the allocation holds that many
    // bytes from `whole` on (the caller's promise), so the sum stays within it.
    unsafe { whole.byte_add(part.offset()) }.cast()
}

/// From a part back to the whole, with the provenance of `part`'s pointer.
///
/// # Safety
///
/// `part` must point to the part `token` of a `W`, with the provenance of that whole `W`.
#[inline]
const unsafe fn whole_of<W, F>(part: NonNull<F>, token: Field<W, F>) -> NonNull<W> {
    // SAFETY: the `W` begins that many bytes before its part (the caller's promise), in the same
    // allocation, so the difference stays within it.
    unsafe { part.byte_sub(token.offset()) }.cast()
}
