//! Cache lines: their size by target, values that have lines of their own, and groups of fields
//! whose lines the compiler proves.
//!
//! Compile time only; no `unsafe`, no `std`, and no allocation but for [`Layout::to_svg`].
//!
//! * [`CACHE_LINE`] is the line size in bytes that this build assumes; [`LineWarning`] says so
//!   where a machine has larger ones.
//! * [`CacheLine<T, N>`](CacheLine) is a `T` that shares no line with anything else.
//! * [`cacheline_struct!`](crate::cacheline_struct!) defines a struct with named groups of fields
//!   and promises about their lines; [`cacheline_group!`](crate::cacheline_group!) and
//!   [`layout_map!`](crate::layout_map!) do so for a struct that someone else defined. A broken
//!   promise fails the build.
//! * [`Layout`] is such a struct's map: a table, a drawing, a comparison.
//!
//! The page [`layout_maps`](crate::docs::layout_maps) is a guide.

mod define;
mod edge;
mod layout;
mod line;
mod size;
mod warning;

#[doc(hidden)]
pub use define::__mapped;
#[doc(hidden)]
pub use edge::__edge_if;
pub use edge::{Checked, Edge, Proof};
pub(crate) use layout::Message;
pub use layout::{
    Access, Broken, BrokenKind, Diff, Gap, GapKind, Gaps, Group, Layout, LayoutField, Limit,
    LineSet, Rule, Touch, UnknownField,
};
pub(crate) use line::sealed::{Aligned, Bytes};
pub use line::{CacheLine, LineCount, Lines};
pub use size::CACHE_LINE;
pub use warning::LineWarning;
