//! [`Field`]: a constant that names a field of a struct, made by [`field!`](crate::field!).

#![allow(unsafe_code, reason = "one unsafe constructor; the room has no unsafe block")]

use core::fmt;
use core::marker::PhantomData;

/// A field of type `F` at a constant offset in the struct `W`.
///
/// A token is made by [`field!`](crate::field!), which proves that `F` is a direct field of `W`
/// (not one reached through `Deref`, not one of a packed struct, not one of an enum).
pub struct Field<W, F> {
    offset: usize,
    _of: PhantomData<fn(*const W) -> *const F>,
}

impl<W, F> Field<W, F> {
    /// A token for the field at `offset` bytes.
    ///
    /// Use [`field!`](crate::field!), which is safe.
    ///
    /// # Safety
    ///
    /// Each `W` must hold a well-aligned `F` at `offset`, for as long as the `W` lives.
    #[inline]
    pub const unsafe fn new_unchecked(offset: usize) -> Self {
        Self { offset, _of: PhantomData }
    }

    /// The field's offset in bytes.
    #[inline]
    pub const fn offset(self) -> usize {
        self.offset
    }
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
