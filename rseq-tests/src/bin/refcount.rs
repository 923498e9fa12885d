//! References to shared values among disturbed threads while the values' owners go: each value is dropped
//! once, after its last reference. `--operations N` clones and drops (100 million).

use rseq_tests::{command, refcount};
use std::process::ExitCode;

fn main() -> ExitCode {
    command::stress("--operations", 100_000_000, refcount::run, refcount::Found::is_good)
}
