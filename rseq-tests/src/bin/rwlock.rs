//! A reader lock among disturbed threads: no torn read, no lost write, no wait without an end.
//! `--operations N` reads and writes (10 million).

use rseq_tests::{command, rwlock};
use std::process::ExitCode;

fn main() -> ExitCode {
    command::stress("--operations", 10_000_000, rwlock::run, rwlock::Found::is_good)
}
