//! References to shared values among disturbed threads while the values' owners go: each value is dropped
//! once, after its last reference. `--operations N` clones and drops (100 million).

use rseq_tests::implementation::{Entries, sections};
use rseq_tests::refcount;
use std::process::ExitCode;

fn operations() -> Result<u64, String> {
    let mut words = std::env::args().skip(1);
    let mut operations = 100_000_000;
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} wants a number"))?;
        if word != "--operations" {
            return Err(format!("{word}: not an option (--operations N)"));
        }
        operations = value.parse().map_err(|error| format!("{word} {value}: {error}"))?;
    }
    Ok(operations)
}

fn main() -> ExitCode {
    let operations = match operations() {
        Ok(operations) => operations,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let _ = (Entries::new(), sections());
    let found = refcount::run(operations);
    println!("backend {}: {found}", corelocal::backend());
    if found.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
