//! How many instructions an operation is, counted by callgrind: the same count in every run, on a
//! busy machine too, so that one instruction more shows.
//!
//! `cargo run --release -p benches --bin bench -- instructions` compares with the counts in
//! `benches/instructions/counts`. By itself, `cargo bench -p benches --bench instructions` prints
//! what callgrind knows. Either needs valgrind and `gungraun-runner`, of the version in `Cargo.lock`.
//!
//! valgrind has no restartable sequences: what is counted is what does not depend on them, and the
//! ways of the lower backends. Sections are counted from their code, by
//! `rseq-tests/tests/hot_paths.rs`.
//!
//! An operation is a function that is not inlined, called once. What it needs is prepared before, and
//! given back, so that neither making nor dropping it counts.
#![allow(missing_docs, reason = "the macros make public modules of the functions")]

mod built;
mod memory;
mod priority;
mod words;

use built::{buckets, structures};
use gungraun::{Callgrind, LibraryBenchmarkConfig, main};
use memory::{cells, objects, places};
use priority::{levels, vectors};
use words::{bitmap, cpus};

main!(
    // Instructions and nothing else: the simulated caches are not those of a machine.
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"])),
    library_benchmark_groups =
        [bitmap, cpus, levels, vectors, cells, places, objects, buckets, structures]
);
