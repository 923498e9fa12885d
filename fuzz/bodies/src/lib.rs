//! What each fuzz target does with its bytes.
//!
//! `fuzz/fuzz_targets` calls these functions with what a fuzzer thinks of, and `tests/` calls them
//! with what proptest does, so that nothing is only fuzzed. The two that compare with a model are
//! files of `tests/churn.rs` and `tests/priority/oracle.rs` as well, and the reports' one of
//! `examples/advice/tests/reports.rs`.
//!
//! A body panics where something is wrong: a promise was broken, or more was taken from the heap than
//! the stated factor of the input.

pub mod advised;
pub mod allocator;
pub mod choices;
pub mod lists;
pub mod memory;
pub mod priority;
pub mod reports;
pub mod sequences;
pub mod topology;
pub mod trees;
