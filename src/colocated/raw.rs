//! Ways between a whole and its parts for raw pointers, and what [`Part`](super::Part) does them by.

use super::{CoLocated, Placement};
use crate::field::Field;
use core::ptr::NonNull;

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
    /// comes from [`a_ptr`](Self::a_ptr), from [`Part::as_non_null`](super::Part::as_non_null), or otherwise from a pointer
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

/// From the whole to a part. The result has `whole`'s provenance: arithmetic keeps it, and no
/// reference to the part alone is made on the way.
///
/// # Safety
///
/// `whole` must point into an allocation that holds a `W` there, initialised or not.
#[inline]
pub(super) const unsafe fn part_of<W, F>(whole: NonNull<W>, part: Field<W, F>) -> NonNull<F> {
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
pub(super) const unsafe fn whole_of<W, F>(part: NonNull<F>, token: Field<W, F>) -> NonNull<W> {
    // SAFETY: the `W` begins that many bytes before its part (the caller's promise), in the same
    // allocation, so the difference stays within it.
    unsafe { part.byte_sub(token.offset()) }.cast()
}
