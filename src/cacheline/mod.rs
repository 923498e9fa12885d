//! Cache lines: their size by target, and values that have lines of their own.
//!
//! Compile time only; no `unsafe`, no allocation, no `std`.
//!
//! * [`CACHE_LINE`] is the line size in bytes that this build assumes.
//! * [`CacheLine<T, N>`](CacheLine) is a `T` that shares no line with anything else.

mod line;
mod size;

pub use line::{CacheLine, LineCount, Lines};
pub use size::CACHE_LINE;
