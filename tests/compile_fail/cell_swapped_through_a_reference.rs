//! An atomic store to a lane that sections write too would lose updates.
// fail: E0599 E0624
#![forbid(unsafe_code)]

use corelocal::{PerCpu, PerCpuCell};

pub fn reset(hits: &PerCpu<PerCpuCell<u64>>) -> u64 {
    #[cfg(pass)]
    return hits.swap(0).1;
    #[cfg(fail)]
    return hits.spill().swap(0).1;
}
