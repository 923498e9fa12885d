//! Records written by disturbed threads while another one reads: none is torn, none is lost but those
//! that are counted. `--records N` (30 million).

use rseq_tests::{command, ring};
use std::process::ExitCode;

fn main() -> ExitCode {
    command::stress("--records", 30_000_000, ring::run, ring::Found::is_good)
}
