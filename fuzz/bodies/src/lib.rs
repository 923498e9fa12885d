//! What each fuzz target does with its bytes.
//!
//! `fuzz/fuzz_targets` calls these functions with what a fuzzer thinks of, and `tests/` calls them
//! with what proptest does, so that nothing is only fuzzed. Three that compare with a model are files
//! of `tests/churn.rs`, `tests/priority/oracle.rs` and `tests/ring/oracle.rs` as well, and the reports' one of
//! `examples/advice/tests/reports.rs`.
//!
//! A body panics where something is wrong: a promise was broken, or more was taken from the heap than
//! the stated factor of the input.

pub mod advised;
pub mod allocator;
pub mod cgroups;
pub mod choices;
pub mod counters;
pub mod files;
pub mod lists;
pub mod memory;
pub mod params;
pub mod priority;
pub mod reports;
pub mod rings;
pub mod sequences;
pub mod topology;
pub mod traces;
pub mod trees;

/// What a target does with its bytes.
pub type Body = fn(&[u8]);

/// Each file of `fuzz_targets`, and what it calls.
pub const TARGETS: [(&str, Body); 11] = [
    ("allocator", sequences::allocator),
    ("cgroups", cgroups::cgroups),
    ("counters", counters::counters),
    ("lists", lists::lists),
    ("params", params::params),
    ("priority", sequences::priority),
    ("reports", advised::reports),
    ("rings", sequences::rings),
    ("topology", topology::topology),
    ("traces", traces::traces),
    ("trees", trees::trees),
];
