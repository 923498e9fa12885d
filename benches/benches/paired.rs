//! All cases, interleaved: see `benches::paired`.
//!
//! `cargo bench -p benches --bench paired -- [GROUP]... [--rounds N] [--seed N] [--json]`

use benches::paired::{self, Options};
use std::process::ExitCode;

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) => {
            print!("{}", paired::run(&options));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("paired: {message}");
            ExitCode::from(2)
        }
    }
}
