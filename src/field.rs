//! [`Field`]: a constant that names a field of a struct, made by [`field!`](crate::field!).

#![allow(unsafe_code, reason = "one unsafe constructor; the room has no unsafe block")]

use core::fmt;
use core::marker::PhantomData;

/// A field of type `F` at a constant offset in the struct `W`.
///
/// A token is made by [`field!`](crate::field!), which proves that `F` is a direct field of `W`
/// (not one reached through `Deref`, not one of a packed struct, not one of an enum).
///
/// A token costs nothing beside its offset and is `Copy`. Both types are exact: a token for a
/// `&'static str` is not one for a `&'a str`, so that a token may also stand for writes.
///
/// ```
/// # use corelocal::{PerCpu, PerCpuCell, field};
/// use corelocal::Field;
///
/// #[derive(Default)]
/// struct Traffic { received: PerCpuCell<u64>, sent: PerCpuCell<u64> }
///
/// /// Counts in the field that the caller names.
/// fn count(traffic: &PerCpu<Traffic>, what: Field<Traffic, PerCpuCell<u64>>) {
///     traffic.at(what).inc();
/// }
///
/// let traffic = PerCpu::new(|_| Traffic::default());
/// count(&traffic, field!(Traffic, sent));
/// assert_eq!(traffic.at(field!(Traffic, sent)).sum(), 1);
/// assert_eq!(traffic.at(field!(Traffic, received)).sum(), 0);
/// ```
pub struct Field<W, F> {
    offset: usize,
    /// Invariant in both, because through `*mut F` a shorter-lived value could be written.
    _of: PhantomData<fn(*mut W) -> *mut F>,
}

impl<W, F> Field<W, F> {
    /// A token for the field at `offset` bytes.
    ///
    /// Use [`field!`](crate::field!), which is safe.
    ///
    /// # Safety
    ///
    /// Each `W` must hold a well-aligned `F` at `offset`, for as long as the `W` lives.
    ///
    /// ```
    /// # use corelocal::field::Field;
    /// #[repr(C)]
    /// struct Header { kind: u16, words: [u32; 4] }
    ///
    /// // `field!` names no element of an array: this one is counted by hand.
    /// const THIRD: usize = std::mem::offset_of!(Header, words) + 2 * size_of::<u32>();
    /// // SAFETY: each `Header` holds an aligned `u32` behind the first two of its words.
    /// const WORD: Field<Header, u32> = unsafe { Field::new_unchecked(THIRD) };
    /// assert_eq!(WORD.offset(), 12);
    /// ```
    #[inline]
    pub const unsafe fn new_unchecked(offset: usize) -> Self {
        Self { offset, _of: PhantomData }
    }

    /// The field's offset in bytes.
    ///
    /// ```
    /// # use corelocal::field;
    /// struct Stats { reads: u64, writes: u64 }
    ///
    /// let stats = Stats { reads: 1, writes: 2 };
    /// let writes = (&raw const stats).wrapping_byte_add(field!(Stats, writes).offset());
    /// assert_eq!(writes.cast(), &raw const stats.writes);
    /// # let _ = stats.reads;
    /// ```
    #[inline]
    pub const fn offset(self) -> usize {
        self.offset
    }

    /// The token of `inner`, a field of this field.
    ///
    /// ```
    /// use corelocal::field;
    /// use corelocal::field::Field;
    /// # use std::mem::offset_of;
    ///
    /// struct Load { weight: u64, inverse: u32 }
    /// struct Queue { running: u32, load: Load }
    ///
    /// const INVERSE: Field<Queue, u32> = field!(Queue, load).then(field!(Load, inverse));
    /// assert_eq!(INVERSE.offset(), offset_of!(Queue, load.inverse));
    /// ```
    #[inline]
    pub const fn then<G>(self, inner: Field<F, G>) -> Field<W, G> {
        // Each `W` holds an aligned `F` here, and each `F` an aligned `G` there.
        Field { offset: self.offset + inner.offset, _of: PhantomData }
    }

    /// `self`, whose types `witness` has fixed. Only [`field!`](crate::field!) needs it.
    #[doc(hidden)]
    #[inline]
    pub const fn __witnessed(self, _witness: fn(&mut W) -> &mut [F]) -> Self {
        self
    }
}

/// A [`Field`](crate::field::Field) token for a field of a struct, as a constant expression.
///
/// `field!(Whole, name)` takes the path of a struct (generics, lifetimes, `Self` and aliases are
/// fine) and the name of a direct field, or its number in a tuple struct. The type of the field is
/// inferred; [`Field::then`](crate::field::Field::then) goes deeper.
///
/// ```
/// use corelocal::field;
/// use corelocal::field::Field;
///
/// struct Stats { reads: u32, writes: u64 }
/// struct Pair<T>(u8, T);
///
/// const WRITES: Field<Stats, u64> = field!(Stats, writes);
/// const SECOND: Field<Pair<u64>, u64> = field!(Pair<u64>, 1);
/// assert_eq!(WRITES.offset(), std::mem::offset_of!(Stats, writes));
/// assert_eq!(SECOND.offset(), std::mem::offset_of!(Pair<u64>, 1));
/// ```
///
/// What is not a field of the struct itself does not compile: a field behind `Deref` or in a `Box`,
/// a field of an enum or a union, a field that a `repr(packed)` struct may misalign, a field that
/// privacy hides, a field without a constant size. A crate with `#![forbid(unsafe_code)]` can use
/// the macro.
#[macro_export]
macro_rules! field {
    // The names are long because a constant of the caller's with the same name would be taken
    // for the pattern: macro hygiene does not cover that.
    ($whole:path, $field:tt) => {{
        let __corelocal_offset = ::core::mem::offset_of!($whole, $field);
        // SAFETY:
        // * each `$whole` holds the field at this offset: that is what `offset_of!` says;
        // * the field has the token's type and its alignment: the witness below matches it with a
        //   struct pattern, which follows no `Deref` and refuses a misaligned field (E0793).
        let __corelocal_token = unsafe { $crate::field::Field::new_unchecked(__corelocal_offset) };
        // The pattern and not an expression, because `whole.field` would follow `Deref`. The slice,
        // because a plain `&mut Box<X>` at the end of the closure would be coerced to `&mut X` if
        // the token's type is annotated so. `&mut`, because it is exact in lifetimes too.
        $crate::field::Field::<$whole, _>::__witnessed(__corelocal_token, |__corelocal_whole| {
            let $whole { $field: __corelocal_field, .. } = __corelocal_whole;
            let __corelocal_exact = ::core::slice::from_mut(__corelocal_field);
            __corelocal_exact
        })
    }};
}

impl<W, F> Clone for Field<W, F> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<W, F> Copy for Field<W, F> {}

impl<W, F> fmt::Debug for Field<W, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").field("offset", &self.offset).finish()
    }
}
