//! Objects that go round among disturbed threads while others drain: none is lost, none is handed
//! out twice. `--operations N` gets and puts (100 million).

use rseq_tests::{command, pool};
use std::process::ExitCode;

fn main() -> ExitCode {
    command::stress("--operations", 100_000_000, pool::run, pool::Found::is_good)
}
