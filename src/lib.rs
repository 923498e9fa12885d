// The README's links to pages and types: these definitions come first, so they win over those at its end. See `docs`.
#![doc = include_str!("docs/links.md")]
#![cfg_attr(feature = "std", doc = include_str!("docs/links-std.md"))]
#![cfg_attr(feature = "std", doc = include_str!("docs/links-types.md"))]
#![cfg_attr(feature = "pool", doc = "[`pools`]: crate::docs::pools\n[`PerCpuPool`]: PerCpuPool")]
#![cfg_attr(
    feature = "epoch",
    doc = "[`reclaim`]: crate::docs::reclaim\n[`AtomicPerCpu`]: AtomicPerCpu"
)]
#![doc = include_str!("../README.md")]
//!
//! # From here
//!
//! The pages in reading order: [`docs`]. The types lie in the modules below; those that most programs want
//! are re-exported here.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

// F0: words.
pub mod bitmap;
mod bytes;
pub mod cpu;
pub mod error;
pub mod field;
#[cfg(feature = "std")]
mod once;
mod sync;
#[doc(hidden)]
pub mod zeroed;

// F1: where bytes lie, and what the machine gives.
pub mod cacheline;
#[cfg(feature = "std")]
pub mod sys;

// F2: products.
pub mod colocated;
#[cfg(feature = "std")]
pub mod percpu;
pub mod priority;

// F3: what is built on them.
#[cfg(feature = "std")]
pub mod counter;
#[cfg(all(feature = "std", not(corelocal_loom)))]
pub mod histogram;
#[cfg(feature = "pool")]
pub mod pool;
#[cfg(feature = "epoch")]
pub mod reclaim;
#[cfg(feature = "std")]
pub mod refcount;
#[cfg(feature = "std")]
pub mod ring;
#[cfg(feature = "std")]
pub mod rwlock;

pub mod docs;

// Beside the floors: what models reach, and what tests can pretend.
#[cfg(all(corelocal_loom, feature = "std"))]
#[doc(hidden)]
pub mod model;
#[cfg(feature = "testing")]
pub mod testing;

pub use bytemuck;
pub use cacheline::{CACHE_LINE, CacheLine};
pub use colocated::{CoLocated, Part};
#[cfg(feature = "std")]
pub use counter::{BatchedCounter, CounterRef, PerCpuCounter, PerCpuGauge};
#[cfg(all(feature = "std", not(corelocal_loom)))]
pub use counter::{CounterSet, StaticCounter, StaticGauge};
pub use cpu::{CpuId, CpuMask, Lane};
pub use error::{AllocError, AreaError, BatchError, BoundsError, InitError, Moved, OverLimit};
pub use field::Field;
#[cfg(all(feature = "std", not(corelocal_loom)))]
pub use histogram::{HistogramSnapshot, PerCpuHistogram, StaticHistogram};
#[cfg(all(feature = "std", not(corelocal_loom)))]
pub use percpu::PerCpuStatic;
#[cfg(feature = "std")]
pub use percpu::{
    Area, AreaBuilder, AreaStats, Counters, PerCpu, PerCpuCell, PerCpuPtr, PerCpuRef,
};
#[cfg(all(feature = "pool", not(corelocal_loom)))]
pub use pool::{PerCpuPool, StaticPool};
pub use priority::{ByCpu, CpuSlot, Level, Packed, Padded, Priority, PriorityVec, Split};
#[cfg(feature = "epoch")]
pub use reclaim::AtomicPerCpu;
#[cfg(feature = "std")]
pub use refcount::{PerCpuArc, PerCpuArcOwner, PerCpuRefCount};
#[cfg(all(feature = "std", not(corelocal_loom)))]
pub use ring::PerCpuRing;
#[cfg(feature = "std")]
pub use rwlock::PerCpuRwLock;
#[cfg(feature = "std")]
pub use sys::topology::Topology;
#[cfg(feature = "std")]
pub use sys::{Backend, backend};
