//! What `sched` is told in files of its own forms: machines, caches, benchmarks.

use crate::memory::within;
use sched::{replay, rt};

/// Reads `text` as each of the files of parameters: modelled caches, a machine of the coherence model, the
/// kernel's benchmark, the real-time load.
///
/// # Panics
///
/// If more than 64 times the text and 64 KiB are taken from the heap, if an error has more than one
/// line, or if what was accepted makes no benchmark.
pub fn params(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let (length, most) = (text.len(), 64 << 10);
    is_one_line(within(length, 64, most, || model::Params::parse(&text)).err());
    match within(length, 64, most, || model::coherence::Params::parse(&text)) {
        Err(error) => is_one_line(Some(error)),
        Ok(params) => has_few_cpus(&params.machine),
    }
    match within(length, 64, most, || rt::Params::parse(&text)) {
        Err(error) => is_one_line(Some(error)),
        Ok(params) => params.machines.iter().for_each(has_few_cpus),
    }
    match within(length, 64, most, || replay::Params::parse(&text)) {
        Err(error) => is_one_line(Some(error)),
        Ok(replay::Params { rules, runs }) => {
            for run in runs {
                assert!(run.cpus > 0 && run.on <= run.cpus && run.cpus % run.nodes == 0);
                // More groups than a tree can have are refused before they are asked for.
                let (period, quota) = rules.quota(run.cpus, 1_000_000);
                assert!(quota >= rules.least_quota && period >= rules.period, "{run:?}");
            }
        }
    }
}

/// Few enough for a table of all of them.
fn has_few_cpus(machine: &model::coherence::Machine) {
    assert!((1..=1 << 15).contains(&machine.cpus()), "{machine:?}");
}

fn is_one_line(error: Option<impl ToString>) {
    let error = error.map_or_else(String::new, |error| error.to_string());
    assert!(!error.contains('\n'), "{error}");
}
