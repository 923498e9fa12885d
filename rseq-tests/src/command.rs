//! What the programs that stress a structure share: one option, one line, one status.

use crate::implementation::{Entries, sections};
use std::fmt::Display;
use std::process::ExitCode;

/// Runs `stress` with the number behind `option`, or `default`, and tells what it found.
pub fn stress<F: Display>(
    option: &str,
    default: u64,
    stress: impl FnOnce(u64) -> F,
    is_good: impl FnOnce(&F) -> bool,
) -> ExitCode {
    let amount = match amount(option, default) {
        Ok(amount) => amount,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let _ = (Entries::new(), sections());
    let found = stress(amount);
    println!("backend {}: {found}", corelocal::backend());
    if is_good(&found) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn amount(option: &str, default: u64) -> Result<u64, String> {
    let mut words = std::env::args().skip(1);
    let mut amount = default;
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} wants a number"))?;
        if word != option {
            return Err(format!("{word}: not an option ({option} N)"));
        }
        amount = value.parse().map_err(|error| format!("{word} {value}: {error}"))?;
    }
    Ok(amount)
}
