//! Reports of `perf`, as `sched layout --advise` reads them.

use advice::{Problem, Samples};

/// Reads `text`, and takes the operations of `problem` from what was read: with each of the first
/// thousand samples for the struct's place.
///
/// # Panics
///
/// If an error names a line that is not there, or there are more samples than bytes.
pub fn read_and_observe(text: &[u8], problem: &mut Problem) {
    match Samples::read(text) {
        Ok(samples) => {
            assert!(!samples.is_empty() && samples.len() <= text.len());
            for sample in samples.iter().take(1000) {
                let _ = problem.observe(&samples, &sample.place, u64::MAX);
            }
        }
        Err(error) => {
            let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
            assert!(error.line() <= lines, "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
