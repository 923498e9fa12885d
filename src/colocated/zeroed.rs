//! Which wholes may be all zero bytes: those whose parts may.
//!
//! The impl for [`CacheLine`] is here because its own room has no `unsafe`.

use core::marker::PhantomData;

use bytemuck::Zeroable;
#[doc(hidden)]
pub use bytemuck::Zeroable as __Zeroable;

use super::CoLocated;
use crate::cacheline::{CacheLine, LineCount, Lines};

// SAFETY: zero bytes are a value of each part, and any bytes are fine between them.
unsafe impl<A: Zeroable, B: Zeroable, C: Zeroable> Zeroable for CoLocated<A, B, C> {}

// SAFETY: zero bytes are a value of `T`; the aligner has no bytes, and the padding takes any.
unsafe impl<T: Zeroable, const N: usize> Zeroable for CacheLine<T, N> where Lines<N>: LineCount {}

/// Carries the bound `T: Zeroable` into a `where` clause of `colocated!`.
///
/// A plain `where Concrete: Zeroable` must hold, or rustc refuses the impl; with a lifetime of a
/// `for<'a>` in it, it may fail, and then the impl is not there. That is what the macro wants.
#[doc(hidden)]
#[derive(Debug)]
pub struct __Zeroed<'a, T>(PhantomData<(&'a (), T)>);

// SAFETY: it has no bytes.
unsafe impl<T: Zeroable> Zeroable for __Zeroed<'_, T> {}
