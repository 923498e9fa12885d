//! One command for all groups, short: `bench report` measures, and writes a result as JSON, a page to
//! look at and a summary in Markdown. `bench compare` tells what became slower or faster.
//!
//! ```text
//! cargo run --release -p benches --bin bench -- report
//! cargo run --release -p benches --bin bench -- compare BEFORE.json AFTER.json
//! cargo run --release -p benches --bin bench -- instructions
//! ```
//!
//! Exit status: 0; 1 if `compare` found something slower, or `instructions` more of them; 2 for bad
//! input.

mod against;
mod args;
mod compare;
#[cfg(test)]
mod fixture;
mod heat;
mod html;
mod instructions;
mod maps;
mod markdown;
mod overview;
mod plot;
mod result;
mod run;

use args::{Asked, Command};
use result::Report;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

const SLOWER: u8 = 1;
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let done = args::parse(std::env::args().skip(1)).and_then(|command| match command {
        Command::Report(asked) => report(&asked),
        Command::Page(result) => page(&result),
        Command::Compare(before, after) => compare(&before, &after),
        Command::Instructions { update } => Ok(match instructions::run(update)? {
            instructions::Outcome::Good => ExitCode::SUCCESS,
            instructions::Outcome::More => ExitCode::from(SLOWER),
        }),
        Command::Help => {
            println!("{}", args::USAGE);
            Ok(ExitCode::SUCCESS)
        }
    });
    done.unwrap_or_else(|wrong| {
        eprintln!("bench: {wrong}");
        ExitCode::from(BAD_INPUT)
    })
}

/// Measures, and writes all three files.
fn report(asked: &Asked) -> Result<ExitCode, String> {
    // Before minutes of work.
    let out = &asked.out;
    fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let report = run::run(asked);
    write(&out.join(format!("{}.json", report.name)), &report.to_json())?;
    pictures(&report, out)?;
    Ok(ExitCode::SUCCESS)
}

fn page(result: &Path) -> Result<ExitCode, String> {
    let report = Report::read(result)?;
    pictures(&report, result.parent().unwrap_or(Path::new("")))?;
    Ok(ExitCode::SUCCESS)
}

/// Page and summary.
fn pictures(report: &Report, out: &Path) -> Result<(), String> {
    let page = html::page(report, &maps::all());
    write(&out.join(format!("{}.html", report.name)), &page)?;
    write(&out.join(format!("{}.md", report.name)), &markdown::summary(report))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("wrote {}", file.display());
    Ok(())
}

fn compare(before: &Path, after: &Path) -> Result<ExitCode, String> {
    let (before, after) = (Report::read(before)?, Report::read(after)?);
    let comparison = compare::compare(&before, &after)?;
    print!("{}", comparison.markdown());
    Ok(if comparison.slower() { ExitCode::from(SLOWER) } else { ExitCode::SUCCESS })
}
