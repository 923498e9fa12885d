//! Which wholes may be all zero bytes: those whose parts may.
//!
//! The impls for types of the room `cacheline` are here because that room has no `unsafe`.

use bytemuck::Zeroable;

use super::{CoLocated, Placement};
use crate::cacheline::{Aligned, Bytes, CacheLine, Edge, LineCount, Lines};

// SAFETY: zero bytes are a value of each part and of what a placement adds, and any bytes are fine
// between them.
unsafe impl<A: Zeroable, B: Zeroable, C: Zeroable, P: Placement> Zeroable
    for CoLocated<A, B, C, P>
{
}

// SAFETY: zero bytes are a value of `T`; the aligner has no bytes, and the padding takes any.
unsafe impl<T: Zeroable, const N: usize> Zeroable for CacheLine<T, N> where Lines<N>: LineCount {}

// SAFETY: it has no bytes.
unsafe impl<const ALIGN: usize> Zeroable for Edge<ALIGN> where Bytes<ALIGN>: Aligned {}
