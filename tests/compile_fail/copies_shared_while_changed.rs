//! `iter_mut` is exclusive: no copy is read meanwhile.
// fail: E0502
#![forbid(unsafe_code)]

use corelocal::PerCpu;

pub fn bump(counts: &mut PerCpu<u64>) -> u64 {
    let mut sum = 0;
    for (_, count) in counts.iter_mut() {
        *count += 1;
        #[cfg(pass)]
        (sum += *count);
        #[cfg(fail)]
        (sum += *counts.this());
    }
    sum
}
