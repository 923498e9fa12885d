//! The picks against the properties that define them.
//!
//! Each check is a function that takes the rules as a parameter: with every line right it holds for
//! every random input, and with the one line wrong that the check is about it fails for some input:
//! both are tests. More cases, all checks:
//!
//! ```text
//! PROPTEST_CASES=10000 cargo test --release -p sched --test pick
//! ```

mod bugs;
mod command;
mod machine;
mod parts;
mod policies;
mod queues;
mod reweight;
mod service;
mod shares;
mod simulator;
mod wrong;

use proptest::prelude::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// `PROPTEST_CASES`, or `usual` without it.
fn cases(usual: u32) -> Config {
    let cases = match std::env::var("PROPTEST_CASES") {
        Ok(cases) => cases.parse().expect("PROPTEST_CASES is a whole number"),
        Err(_) => usual,
    };
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Runs a check that must hold.
fn holds<S: Strategy>(usual: u32, inputs: S, check: impl Fn(S::Value) -> Result<(), String>) {
    let mut runner = TestRunner::new(cases(usual));
    let done = runner.run(&inputs, |input| check(input).map_err(TestCaseError::fail));
    if let Err(error) = done {
        panic!("{error}");
    }
}

/// Runs a check that must not hold: a line is wrong. The inputs are the same each time.
fn fails<S: Strategy>(inputs: S, check: impl Fn(S::Value) -> Result<(), String>) {
    let config =
        Config { cases: 500, max_shrink_iters: 0, failure_persistence: None, ..<_>::default() };
    let rng = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let done = runner.run(&inputs, |input| check(input).map_err(TestCaseError::fail));
    assert!(matches!(done, Err(TestError::Fail(..))), "a wrong line was not noticed: {done:?}");
}
