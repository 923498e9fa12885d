//! 8 threads x 10 million adds, disturbed in every way there is, again and again: the sum must be
//! exact each time. `--times N` (1), `--adds N` a thread (10 million).

use rseq_tests::exact;
use rseq_tests::implementation::{Entries, sections};
use std::process::ExitCode;

fn options() -> Result<(u32, u64), String> {
    let (mut times, mut adds) = (1, 10_000_000);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} wants a number"))?;
        let value: u64 = value.parse().map_err(|error| format!("{word} {value}: {error}"))?;
        match word.as_str() {
            "--times" => times = u32::try_from(value).map_err(|error| error.to_string())?,
            "--adds" => adds = value,
            other => return Err(format!("{other}: not an option (--times N, --adds N)")),
        }
    }
    Ok((times, adds))
}

fn main() -> ExitCode {
    let (times, adds) = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let build = if cfg!(debug_assertions) { "with" } else { "without" };
    let _ = (Entries::new(), sections());
    println!(
        "backend: {}, {} threads x {adds} adds, {build} debug assertions",
        corelocal::backend(),
        exact::THREADS
    );
    let (mut exact_runs, mut aborts, mut spills, mut seconds) = (0, 0, 0, 0.0);
    for time in 1..=times {
        let found = exact::run(adds);
        println!("{time}: {found}");
        exact_runs += u32::from(found.is_good());
        aborts += found.aborts;
        spills += found.spills;
        seconds += found.took.as_secs_f64();
    }
    println!(
        "{exact_runs} of {times} runs exact; {aborts} aborts, {spills} spills, {seconds:.1} s"
    );
    if exact_runs == times { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
