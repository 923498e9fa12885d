//! Pages: why the crate is as it is. Their code blocks are compiled and run as tests.
//!
//! * [`design`]: the words, the floors, the address scheme, the allocator.
//! * [`orderings`]: the numbered edges that the atomics rely on, with their models and mutants.
//! * [`priority`]: for schedulers in user space: the layouts, the promises, push and pull.
//! * [`layout_maps`]: how to read a layout map, and what to do about it.
//! * [`counters`]: which counter is wanted, what it promises, and when none is.
//! * [`histograms`]: which buckets are wanted, what a histogram promises, and when none is.
//! * [`limits`]: what the promises do not cover, and what our machines could not show.
//! * `pools`: how to use a pool, and when not to (feature `pool`).
//! * `rings`: how to trace with a ring a CPU, and when not to.
//! * `refcounts`: how to use a reference count, and when not to (feature `std`).
//! * `reclaim`: objects that are replaced while they are read, and when not to (feature `epoch`).
//! * [`reader_locks`]: when a reader lock is wanted, what it promises, and when not to use it.
//! * [`tools`]: loom, Miri, valgrind and sanitizers on your code, with our types in it.
//! * [`machines`]: what was seen in virtual machines, with more CPUs, other kernels, and AArch64.

#[doc = include_str!("design.md")]
pub mod design {}

#[doc = include_str!("orderings.md")]
pub mod orderings {}

#[doc = include_str!("priority.md")]
pub mod priority {}

#[doc = include_str!("layout-maps.md")]
pub mod layout_maps {}

#[cfg(feature = "std")]
#[doc = include_str!("counters.md")]
pub mod counters {}

#[cfg(all(feature = "std", not(corelocal_loom)))]
#[doc = include_str!("histograms.md")]
pub mod histograms {}

#[doc = include_str!("limits.md")]
pub mod limits {}

#[cfg(all(feature = "std", not(corelocal_loom)))]
#[doc = include_str!("tools.md")]
pub mod tools {}

#[doc = include_str!("machines.md")]
pub mod machines {}

#[cfg(all(feature = "std", not(corelocal_loom)))]
#[doc = include_str!("rings.md")]
pub mod rings {}

#[cfg(all(feature = "std", not(corelocal_loom)))]
#[doc = include_str!("reader-locks.md")]
pub mod reader_locks {}

#[cfg(feature = "pool")]
#[doc = include_str!("pools.md")]
pub mod pools {}

#[cfg(feature = "std")]
#[doc = include_str!("refcounts.md")]
pub mod refcounts {}

#[cfg(all(feature = "epoch", not(corelocal_loom)))]
#[doc = include_str!("reclaim.md")]
pub mod reclaim {}
