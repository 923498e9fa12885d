//! A handle to a counter lives as long as the counter.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::PerCpuCounter;

pub fn last(counter: PerCpuCounter) -> u64 {
    let handle = counter.as_ref();
    #[cfg(fail)]
    drop(counter);
    handle.take()
}
