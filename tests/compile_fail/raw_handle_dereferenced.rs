//! A raw handle's copies are reached with a lane, and by an unsafe call.
// fail: E0614 E0133
#![forbid(unsafe_code)]

use corelocal::{Lane, PerCpu, PerCpuPtr};

pub fn offset(copies: PerCpu<u64>) -> usize {
    let raw: PerCpuPtr<u64> = PerCpu::into_raw(copies);
    #[cfg(fail)]
    let _ = *raw;
    #[cfg(fail)]
    let _ = raw.at(Lane::spill(1));
    raw.offset()
}
