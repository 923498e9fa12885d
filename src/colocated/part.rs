//! [`Part`]: a pointer to one part of a whole that keeps the whole's provenance.

use core::fmt;
use core::marker::PhantomData;
use core::mem::size_of;
use core::ops::Deref;
use core::ptr::NonNull;

use super::{Placement, part_of, whole_of};
use crate::field::Field;

/// A struct whose part number `I` is a field of it.
///
/// [`colocated!`](crate::colocated!) implements it for each part; for a struct that someone else
/// defined, write it by hand. That needs no `unsafe`, because a [`Field`] token is a proof.
///
/// ```
/// use corelocal::colocated::{HasPart, Part};
/// use corelocal::field;
/// use corelocal::field::Field;
///
/// struct Inode { size: u64, links: u32 }
/// impl HasPart<0> for Inode {
///     type Part = u32;
///     const PART: Field<Self, u32> = field!(Inode, links);
/// }
///
/// let inode = Inode { size: 4096, links: 2 };
/// let links: Part<'_, Inode, u32> = Part::new(&inode);
/// assert_eq!((*links, links.whole().size), (2, 4096));
/// ```
pub trait HasPart<const I: usize>: Sized {
    /// The part's type.
    type Part;
    /// The part's place: `Self::PART.offset()` bytes from the start.
    const PART: Field<Self, Self::Part>;
}

/// A pointer to part `I`, of type `F`, of a whole `W`: one word.
///
/// It is used like a `&'a F`, and unlike a `&'a F` it can get back to the `W` around it, because
/// it was made from a `&'a W` and covers all of it. So structures can link to each other's parts
/// (an entity to its parent's entity) and still reach everything that lies with them, without
/// `unsafe` and without a second pointer.
///
/// `F` is always `<W as HasPart<I>>::Part`; it is a parameter so that signatures can name it.
pub struct Part<'a, W, F, const I: usize = 0> {
    /// Where the part lies, with the provenance of the whole `W`.
    part: NonNull<F>,
    /// Invariant in `W`, covariant in `'a`: a subtype of `W` (`for<'x> fn(&'x u8)` of
    /// `fn(&'static u8)`) is a type of its own to the trait system and may have its part `I`
    /// elsewhere, so `whole` must meet the very `W` that `new` did.
    _whole: PhantomData<(&'a W, Exactly<W>)>,
}

/// Invariant in `W`, and `Send` and `Sync` for any.
type Exactly<W> = fn(*mut W) -> *mut W;

impl<'a, W, F, const I: usize> Part<'a, W, F, I>
where
    W: HasPart<I, Part = F>,
{
    /// Part `I` of `whole`.
    #[inline]
    pub fn new(whole: &'a W) -> Self {
        // SAFETY: a reference points to a live `W`.
        let part = unsafe { part_of(NonNull::from(whole), W::PART) };
        Self { part, _whole: PhantomData }
    }

    /// The whole that the part lies in. Costs one subtraction of a constant.
    #[inline]
    pub fn whole(self) -> &'a W {
        // SAFETY:
        // * `new` is the only constructor: `self.part` is part `I` of a `W`;
        // * it was computed from a `&'a W` by arithmetic, so it has that reference's provenance.
        let whole = unsafe { whole_of(self.part, W::PART) };
        // SAFETY: this is the `&'a W` that `new` was given: alive and shared for `'a`, and its
        // provenance covers all of the `W`.
        unsafe { whole.as_ref() }
    }

    /// Part `J` of the same whole. Costs one addition of a constant.
    ///
    /// ```
    /// use corelocal::colocated::CoLocated;
    /// let pair = CoLocated::new(1u8, 2u64, ());
    /// assert_eq!(*pair.part_a().sibling::<1>(), 2);
    /// ```
    #[inline]
    pub fn sibling<const J: usize>(self) -> Part<'a, W, <W as HasPart<J>>::Part, J>
    where
        W: HasPart<J>,
    {
        Part::new(self.whole())
    }
}

impl<'a, W, F, const I: usize> Part<'a, W, F, I> {
    /// The part, for as long as the whole was borrowed.
    #[inline]
    pub fn get(self) -> &'a F {
        // SAFETY: `new` pointed it at a part of a `W` that is alive and shared for `'a`; a token's
        // field is aligned and initialised as its whole is.
        unsafe { self.part.as_ref() }
    }

    /// A raw pointer to the part that may be used for reading the whole, and for changing what in
    /// it may be changed through a shared reference: fit for `CoLocated::from_a` and the like.
    #[inline]
    pub fn as_non_null(self) -> NonNull<F> {
        self.part
    }
}

impl<W, F, const I: usize> Deref for Part<'_, W, F, I> {
    type Target = F;

    #[inline]
    fn deref(&self) -> &F {
        self.get()
    }
}

impl<W, F, const I: usize> Clone for Part<'_, W, F, I> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<W, F, const I: usize> Copy for Part<'_, W, F, I> {}

// SAFETY: a `Part` gives out `&W` and `&F` and nothing else, and those are `Send` under these
// bounds. `F: Sync` is asked for beside `W: Sync` because a `W` may be `Sync` by its own promise,
// as long as nobody reaches the part.
unsafe impl<W: Sync, F: Sync, const I: usize> Send for Part<'_, W, F, I> {}

// SAFETY: as for `Send`; a `&Part` can do no more than a copy of it.
unsafe impl<W: Sync, F: Sync, const I: usize> Sync for Part<'_, W, F, I> {}

/// The sizes only: the part may be another thread's to change.
impl<W, F, const I: usize> fmt::Debug for Part<'_, W, F, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("index", &I)
            .field("size", &size_of::<F>())
            .field("whole", &size_of::<W>())
            .finish()
    }
}

impl<A, B, C, P: Placement> HasPart<0> for super::CoLocated<A, B, C, P> {
    type Part = A;
    const PART: Field<Self, A> = Self::PART_A;
}

impl<A, B, C, P: Placement> HasPart<1> for super::CoLocated<A, B, C, P> {
    type Part = B;
    const PART: Field<Self, B> = Self::PART_B;
}

impl<A, B, C, P: Placement> HasPart<2> for super::CoLocated<A, B, C, P> {
    type Part = C;
    const PART: Field<Self, C> = Self::PART_C;
}
