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
    ///
    /// ```
    /// # use corelocal::colocated::HasPart;
    /// # use corelocal::colocated;
    /// colocated! { struct State { running: u32, weight: u64 } }
    ///
    /// /// How far part `J` lies behind part `I`, in bytes.
    /// fn distance<W: HasPart<I> + HasPart<J>, const I: usize, const J: usize>() -> usize {
    ///     <W as HasPart<J>>::PART.offset() - <W as HasPart<I>>::PART.offset()
    /// }
    /// assert_eq!(distance::<State, 0, 1>(), 8);
    /// # let _ = |state: State| (state.running, state.weight);
    /// ```
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
///
/// ```
/// # use corelocal::{CoLocated, Part};
/// struct Entity<'a> { parent: Option<Part<'a, Group<'a>, Entity<'a>, 1>> }
/// /// A queue, and the entity by which it hangs in its parent's queue.
/// type Group<'a> = CoLocated<u32, Entity<'a>>;
///
/// let root = Group::new(10, Entity { parent: None }, ());
/// let child = Group::new(20, Entity { parent: Some(root.part_b()) }, ());
/// let parent = child.b().parent.unwrap();    // links go from entity to entity,
/// assert_eq!(*parent.whole().a(), 10);       // and the queue is a subtraction away
/// ```
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
    ///
    /// ```
    /// # use corelocal::{colocated, Part};
    /// colocated! { struct State { running: u32, weight: u64 } }
    /// let state = State { running: 3, weight: 1024 };
    /// let weight = Part::<State, u64, 1>::new(&state); // what `state.weight()` does
    /// assert_eq!((*weight, weight.whole().running), (1024, 3));
    /// ```
    #[inline]
    pub fn new(whole: &'a W) -> Self {
        // SAFETY: a reference points to a live `W`.
        let part = unsafe { part_of(NonNull::from(whole), W::PART) };
        Self { part, _whole: PhantomData }
    }

    /// The whole that the part lies in. Costs one subtraction of a constant.
    ///
    /// ```
    /// # use corelocal::{CoLocated, Part};
    /// type State = CoLocated<&'static str, u64>;
    /// fn name(weight: Part<'_, State, u64, 1>) -> &'static str {
    ///     weight.whole().a()
    /// }
    /// assert_eq!(name(State::new("web", 1024, ()).part_b()), "web");
    /// ```
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
    ///
    /// ```
    /// # use corelocal::{CoLocated, Part};
    /// /// Lives as long as the whole; what `Deref` gives lives only as long as the pointer.
    /// fn longest<'a>(names: &[Part<'a, CoLocated<String, u64>, String>]) -> Option<&'a String> {
    ///     names.iter().map(|part| part.get()).max_by_key(|name| name.len())
    /// }
    /// let (a, b) = (CoLocated::new("x".into(), 1, ()), CoLocated::new("xyz".into(), 2, ()));
    /// assert_eq!(longest(&[a.part_a(), b.part_a()]).unwrap(), "xyz");
    /// ```
    #[inline]
    pub fn get(self) -> &'a F {
        // SAFETY: `new` pointed it at a part of a `W` that is alive and shared for `'a`; a token's
        // field is aligned and initialised as its whole is.
        unsafe { self.part.as_ref() }
    }

    /// A raw pointer to the part that may be used for reading the whole, and for changing what in
    /// it may be changed through a shared reference: fit for `CoLocated::from_a` and the like.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// type State = CoLocated<u32, u64>;
    /// let state = State::new(3, 1024, ());
    /// let link = state.part_a().as_non_null(); // for a list that knows no lifetimes
    /// // SAFETY: `link` covers the whole, which lives and is only read.
    /// let whole = unsafe { State::from_a(link).as_ref() };
    /// assert_eq!(whole.b(), &1024);
    /// ```
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
