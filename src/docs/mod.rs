//! Pages: why the crate is as it is. Their code blocks are compiled and run as tests.
//!
//! * [`design`]: the words, the floors, the address scheme, the allocator.
//! * [`orderings`]: the numbered edges that the atomics rely on, with their models and mutants.
//! * [`histograms`]: which buckets are wanted, what a histogram promises, and when none is.
//! * [`limits`]: what the promises do not cover, and what our machines could not show.
//! * [`machines`]: what was seen in virtual machines, with more CPUs, other kernels, and AArch64.

#[doc = include_str!("design.md")]
pub mod design {}

#[doc = include_str!("orderings.md")]
pub mod orderings {}

#[cfg(all(feature = "std", not(corelocal_loom)))]
#[doc = include_str!("histograms.md")]
pub mod histograms {}

#[doc = include_str!("limits.md")]
pub mod limits {}

#[doc = include_str!("machines.md")]
pub mod machines {}
