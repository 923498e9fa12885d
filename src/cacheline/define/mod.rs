//! The macros that define groups: for a struct of one's own, and for someone else's.

mod maps;
mod parts;
mod structs;

#[doc(hidden)]
pub use maps::__mapped;
