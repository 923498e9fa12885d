//! `sched layout --advise` with anything for a report.

use crate::memory::within;
use crate::reports::read_and_observe;
use advice::Samples;
use sched::advise::{Subject, advice_on, report};
use sched::structs::operations::KERNELS;

/// Reads `text` as a report about each of the structures, and advises on the priority's count and mask
/// (the others take a search of seconds, which a report can make no longer).
///
/// # Panics
///
/// If more than 64 times the text and 64 KiB are taken from the heap to read it, if the answer about it
/// is wrong, or if an advice takes more than 4 MiB beside what the samples are.
pub fn reports(text: &[u8]) {
    let kernel = KERNELS.last().expect("there is a newest kernel");
    // Samples are texts of their own, each with its place in a tree of 11 to a node.
    let read = within(text.len(), 64, 64 << 10, || Samples::read(text));
    for (_, subject) in Subject::NAMES {
        read_and_observe(text, &mut subject.problem(kernel));
    }
    let Ok(samples) = read else { return };
    let Some(first) = samples.iter().next() else { return };
    let advise = || advice_on(Subject::CpupriVec, kernel, Some((&samples, &first.place)), None);
    within(text.len(), 64, 4 << 20, || {
        advise().map(|advice| report(Subject::CpupriVec, &advice).len())
    })
    .map_or_else(|error| assert!(!error.contains('\n'), "{error}"), |length| assert!(length > 0));
}
