//! A deterministic model of a machine's caches.
//!
//! It answers one question exactly, the same on every machine: how many accesses of a given list
//! miss, and in which level. It has no clock, no prefetcher, no address translation and no other
//! tenants, so what it says about *lines* is sound and what one might conclude about *time* is not.
//!
//! * [`Cache`]: one set-associative cache with LRU replacement, and a payload for each line. It
//!   knows nothing of levels or of other caches.
//! * [`Hierarchy`]: a private L1 and L2 for each core, a last level for all; counts hits and misses.
//! * [`Params`]: sizes, read from a small text.
//!
//! In a [`Hierarchy`] a write neither invalidates other cores' copies nor costs a transfer; it is
//! counted apart from the reads, and that is all. What writes of several cores do to each other
//! is the other half of this crate: [`coherence`], where caches have no bounds and lines move.

mod cache;
pub mod coherence;
mod geometry;
mod hierarchy;
mod params;

pub use cache::{Cache, Evicted};
pub use geometry::{Geometry, GeometryError};
pub use hierarchy::{Access, Counts, Hierarchy, Level, Stats};
pub use params::{ParamError, Params};
