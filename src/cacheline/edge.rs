//! Fields without bytes: [`Edge`], which aligns what follows it, and [`Proof`], which makes the
//! checks of a generic struct fire.

use core::fmt;
use core::marker::PhantomData;

use super::CACHE_LINE;
use super::line::sealed::{Aligned, Bytes};

/// A field without bytes that begins, and ends, at a multiple of `ALIGN` bytes.
///
/// [`cacheline_struct!`](crate::cacheline_struct!) puts one before and one after each group that is
/// `aligned`, under the names `_edge0`, `_edge1` and so on; they are to be given where such a
/// struct is written out.
///
/// ```
/// use corelocal::cacheline::{CACHE_LINE, Edge};
///
/// #[repr(C)]
/// struct Pair { a: u8, edge: Edge<CACHE_LINE>, b: u8 }
/// let pair = Pair { a: 1, edge: Edge::new(), b: 2 };
/// assert_eq!(std::mem::offset_of!(Pair, b), CACHE_LINE);
/// # let _ = (pair.a, pair.edge, pair.b);
/// ```
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Edge<const ALIGN: usize>
where
    Bytes<ALIGN>: Aligned,
{
    aligner: [<Bytes<ALIGN> as Aligned>::Aligner; 0],
}

impl<const ALIGN: usize> Edge<ALIGN>
where
    Bytes<ALIGN>: Aligned,
{
    /// The only value.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// use corelocal::cacheline::Edge;
    ///
    /// cacheline_struct! {
    ///     struct Queue { group hot(aligned) { running: u32 } name: u64 }
    /// }
    /// // Written out in full, the struct names its edges.
    /// let queue = Queue { _edge0: Edge::new(), running: 3, _edge1: Edge::new(), name: 7 };
    /// assert_eq!(queue.running + queue.name as u32, 10);
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self { aligner: [] }
    }
}

/// The alignment of a group that wants lines of its own where a line has `bytes` bytes: that many
/// there, 1 elsewhere.
#[doc(hidden)]
pub const fn __edge_if(bytes: usize) -> usize {
    if bytes == CACHE_LINE { CACHE_LINE } else { 1 }
}

/// A struct whose layout promises are checked at compile time.
///
/// [`cacheline_struct!`](crate::cacheline_struct!) implements it.
///
/// ```
/// # use corelocal::cacheline_struct;
/// use corelocal::cacheline::Checked;
///
/// cacheline_struct! {
///     struct Ring<T> { group ends(bytes <= 16) { head: T, tail: T } }
/// }
///
/// /// A table that makes the checks of whatever it holds fire.
/// struct Table<T: Checked>(Vec<T>);
/// impl<T: Checked> Table<T> {
///     fn new() -> Self {
///         const { T::CHECKED };
///         Self(Vec::new())
///     }
/// }
/// assert!(Table::<Ring<u64>>::new().0.is_empty()); // `Ring<[u64; 2]>` would fail the build
/// # let _ = |ring: Ring<u64>| (ring.head, ring.tail);
/// ```
pub trait Checked {
    /// Naming this constant is what makes the checks fire.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! {
    ///     struct Ring<T> { group ends(bytes <= 16) { head: T, tail: T } }
    /// }
    /// const _: () = Ring::<u64>::CHECKED; // in `cargo check` already
    /// # let _ = |ring: Ring<u64>| (ring.head, ring.tail);
    /// ```
    const CHECKED: ();
}

/// A field without bytes whose only constructor makes the checks of `W` fire.
///
/// The layout of a generic struct is not known before its parameters are, and rustc checks what it
/// generates code for. So [`cacheline_struct!`](crate::cacheline_struct!) gives each generic struct
/// a field `_proof` of this type: no such struct can be written out without [`Proof::new`].
///
/// ```
/// # use corelocal::cacheline_struct;
/// use corelocal::cacheline::Proof;
///
/// cacheline_struct! {
///     #[derive(Clone, Copy, PartialEq, Debug)]
///     struct Ring<T> { group ends(bytes <= 16) { head: T, tail: T } }
/// }
/// let ring = Ring { head: 1_u64, tail: 2, _proof: Proof::new() };
/// let moved = Ring { head: 2, ..ring }; // the proof goes along, and takes no room
/// assert_eq!((moved.tail, size_of_val(&moved)), (2, 16));
/// ```
pub struct Proof<W>(PhantomData<fn() -> W>);

impl<W: Checked> Proof<W> {
    /// The only value; the build fails where a promise of `W` is broken.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// use corelocal::cacheline::Proof;
    ///
    /// cacheline_struct! {
    ///     struct Ring<T> { group ends(bytes <= 16) { head: T, tail: T } }
    /// }
    /// impl<T: Default> Ring<T> {
    ///     fn empty() -> Self {
    ///         Ring { head: T::default(), tail: T::default(), _proof: Proof::new() }
    ///     }
    /// }
    /// let ring = Ring::<u32>::empty();
    /// assert_eq!((ring.head, ring.tail), (0, 0));
    /// ```
    #[inline]
    pub const fn new() -> Self {
        const { W::CHECKED }
        Self(PhantomData)
    }
}

impl<W: Checked> Default for Proof<W> {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl<W> Clone for Proof<W> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Proof<W> {}

/// Derives of a struct need them of each field; with no bytes, all values are equal.
macro_rules! alike {
    ([$($generics:tt)*] $ty:ty, $name:literal $(, where $($bound:tt)*)?) => {
        impl<$($generics)*> PartialEq for $ty $(where $($bound)*)? {
            #[inline]
            fn eq(&self, _: &Self) -> bool {
                true
            }
        }

        impl<$($generics)*> Eq for $ty $(where $($bound)*)? {}

        impl<$($generics)*> PartialOrd for $ty $(where $($bound)*)? {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl<$($generics)*> Ord for $ty $(where $($bound)*)? {
            #[inline]
            fn cmp(&self, _: &Self) -> core::cmp::Ordering {
                core::cmp::Ordering::Equal
            }
        }

        impl<$($generics)*> core::hash::Hash for $ty $(where $($bound)*)? {
            #[inline]
            fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
        }

        impl<$($generics)*> fmt::Debug for $ty $(where $($bound)*)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($name)
            }
        }
    };
}
alike!([const ALIGN: usize] Edge<ALIGN>, "Edge", where Bytes<ALIGN>: Aligned);
alike!([W] Proof<W>, "Proof");

impl<const ALIGN: usize> Default for Edge<ALIGN>
where
    Bytes<ALIGN>: Aligned,
{
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}
