//! Records written by disturbed threads while another one reads: none is torn, none is lost but those
//! that are counted. `--records N` (30 million).

use rseq_tests::implementation::{Entries, sections};
use rseq_tests::ring;
use std::process::ExitCode;

fn records() -> Result<u64, String> {
    let mut words = std::env::args().skip(1);
    let mut records = 30_000_000;
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} wants a number"))?;
        if word != "--records" {
            return Err(format!("{word}: not an option (--records N)"));
        }
        records = value.parse().map_err(|error| format!("{word} {value}: {error}"))?;
    }
    Ok(records)
}

fn main() -> ExitCode {
    let records = match records() {
        Ok(records) => records,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let _ = (Entries::new(), sections());
    let found = ring::run(records);
    println!("backend {}: {found}", corelocal::backend());
    if found.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
