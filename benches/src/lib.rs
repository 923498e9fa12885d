//! The crate's benchmarks, and the peers that it is measured against.
//!
//! A [`Case`] is written once, in [`cases`], and measured in two ways:
//!
//! * `cargo bench` runs each group with criterion, one case after the other;
//! * `cargo bench -p benches --bench paired` interleaves the cases of a group in a freshly shuffled
//!   order in every round and gives medians, intervals and ratios (see [`paired`]).
//!
//! `cargo run --release -p benches --bin bench -- report` is the short version of the second one for
//! all groups, with a page to look at.
//!
//! Either way a case is measured in pieces of about 100 microseconds on a pinned thread, and a
//! piece in which a thread was switched out involuntarily is rejected and repeated: other work on
//! the machine then costs patience, not truth. The number of rejected pieces is printed.

pub mod cases;
pub mod cold;
pub mod events;
pub mod machine;
pub mod paired;
pub mod sample;
pub mod stats;
pub mod table;
pub mod threads;

pub use sample::{Case, Sample};

use criterion::{Criterion, SamplingMode};
use std::time::Duration;

/// Measures a group with criterion. Short by default; criterion's options lengthen it.
///
/// # Panics
///
/// If there is no group of this name.
pub fn bench(group: &str) {
    let cases = cases::group(group).unwrap_or_else(|| panic!("no group {group:?}"));
    eprintln!("{}", machine::header(group));
    machine::pin_first();
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(15)
        .nresamples(5_000)
        .warm_up_time(Duration::from_millis(60))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    let mut benches = criterion.benchmark_group(group);
    // Equal samples: a case is measured in pieces anyway, and some take a whole round a piece.
    benches.sampling_mode(SamplingMode::Flat);
    let mut rejected = 0;
    for mut case in cases.list {
        let name = format!("{}/{}", case.scene(), case.peer());
        benches.bench_function(name, |bencher| bencher.iter_custom(|iters| case.time(iters)));
        rejected += case.rejected();
    }
    benches.finish();
    criterion.final_summary();
    let detours = machine::detours();
    eprintln!("{group}: {rejected} preempted pieces rejected; {detours}");
}
