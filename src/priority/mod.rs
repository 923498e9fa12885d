//! Which CPU runs at which priority: set and searched by all CPUs at once, without a lock.
//!
//! A scheduler that pushes work away asks for *the CPUs at the lowest priority below mine, of
//! those that I may run on*. [`PriorityVec`] answers; each CPU says what it runs at through its
//! [`CpuSlot`]. It is the kernel's `cpupri`, with a choice of where its words lie:
//!
//! | layout | what a CPU's change writes | what a search reads | for |
//! |---|---|---|---|
//! | [`Packed`] | two levels' counts and masks, side by side | counts up to the first level with somebody, and its mask | the kernel's original: the baseline |
//! | [`Padded`] | the same, each on a line of its own | the same | the change proposed for large machines: count/mask separation |
//! | [`Split`] | the same, all counts together and all masks together | the same | the other proposal; good where few levels are used |
//! | [`ByCpu`] | one byte | the bytes of the allowed CPUs | the default |
//!
//! Why the default is another one than the kernel's: a count and a mask of a level that everybody
//! uses are written by everybody, so every change waits for one line, padded or not, and
//! the line moves through the whole machine. With a byte a CPU, in an order where neighbours share a
//! cache, only neighbours write one line. It pays where a search over all CPUs has to read them all.
//! A task that keeps its mask searches [`Among`] its CPUs, which are looked up once.
//!
//! # What a search promises
//!
//! Let `find` with priority `t` and the mask `allowed` return level `r` and the CPUs `M`, or nothing.
//!
//! | | promise | all layouts |
//! |---|---|---|
//! | G1 | each CPU of `M` is allowed, and was at `r` at some instant of the call (or was being moved from or to it) | yes |
//! | G2 | an allowed CPU that stays at `p < t` during the call is not missed: `r <= p`, and it is in `M` if `r == p` | yes |
//! | G3 | an allowed CPU that only rises during the call, below `t`, is not missed | yes |
//! | G4 | `M` is not empty, and `r < t` | yes |
//! | A1 | an allowed CPU that *falls* during the call may be missed, though it was eligible at each instant | never with [`ByCpu`] |
//!
//! It is not a snapshot: the answer may be old when it arrives, and two CPUs of it may have been seen
//! at different instants. Who acts on it takes the target's lock and looks again. No promise is
//! made about other memory.
//!
//! The page [`docs::priority`](crate::docs::priority) has the layouts in pictures, the promises with
//! examples, push and pull, and when not to use any of it.
//!
//! Orderings: edges E30 to E33 of [`orderings`](crate::docs::orderings). Source: the Linux kernel's
//! `kernel/sched/cpupri.c`, and the discussion of its cache lines on the kernel's mailing list in 2025
//! and 2026.

mod among;
mod by_cpu;
mod by_level;
mod error;
mod fits;
mod footprint;
mod layouts;
mod level;
mod lined;
mod map;
mod mask;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod observed;
#[cfg(feature = "std")]
mod order;
mod protocol;
mod registry;
mod slot;
mod table;
mod value;
mod vector;
mod word;

pub use among::{Among, Searched};
pub use by_cpu::ByCpu;
pub use error::{ClaimError, OrderError, UnknownCpu};
pub use fits::Fits;
pub use footprint::Footprint;
pub use layouts::Split;
pub use level::{Level, Packed, Padded, Padding};
pub use mask::LevelMask;
pub use slot::{Claimed, CpuSlot};
pub use table::Layout;
#[doc(hidden)]
pub use table::{Field, Part, Table};
pub use value::{Priority, PriorityError};
pub use vector::PriorityVec;
#[doc(hidden)]
pub use word::{Atomic, Word, Words};
