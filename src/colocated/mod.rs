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
    #[inline]
    pub const fn new(a: A, b: B, c: C) -> Self {
        Self::placed(a, b, c)
    }
}

impl<A, B, C, P: Placement> CoLocated<A, B, C, P> {
    /// The first part's offset in bytes: always 0.
    pub const OFFSET_A: usize = {
        assert!(offset_of!(Self, a) == 0);
        0
    };
    /// The second part's offset in bytes.
    pub const OFFSET_B: usize = offset_of!(Self, b);
    /// The third part's offset in bytes.
    pub const OFFSET_C: usize = offset_of!(Self, c);

    /// The first part's token: `handle.at(CoLocated::PART_A)`.
    pub const PART_A: Field<Self, A> = field!(Self, a);
    /// The second part's token.
    pub const PART_B: Field<Self, B> = field!(Self, b);
    /// The third part's token.
    pub const PART_C: Field<Self, C> = field!(Self, c);

    /// The first part.
    #[inline]
    pub const fn a(&self) -> &A {
        &self.a
    }

    /// The second part.
    #[inline]
    pub const fn b(&self) -> &B {
        &self.b
    }

    /// The third part.
    #[inline]
    pub const fn c(&self) -> &C {
        &self.c
    }

    /// The first part, to change.
    #[inline]
    pub const fn a_mut(&mut self) -> &mut A {
        &mut self.a
    }

    /// The second part, to change.
    #[inline]
    pub const fn b_mut(&mut self) -> &mut B {
        &mut self.b
    }

    /// The third part, to change.
    #[inline]
    pub const fn c_mut(&mut self) -> &mut C {
        &mut self.c
    }

    /// All parts at once, to change.
    #[inline]
    pub const fn parts_mut(&mut self) -> (&mut A, &mut B, &mut C) {
        (&mut self.a, &mut self.b, &mut self.c)
    }

    /// Takes the parts out.
    #[inline]
    pub fn into_parts(self) -> (A, B, C) {
        (self.a, self.b, self.c)
    }

    /// The first part, by a pointer that knows the whole.
    #[inline]
    pub fn part_a(&self) -> Part<'_, Self, A, 0> {
        Part::new(self)
    }

    /// The second part, by a pointer that knows the whole.
    #[inline]
    pub fn part_b(&self) -> Part<'_, Self, B, 1> {
        Part::new(self)
    }

    /// The third part, by a pointer that knows the whole.
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
