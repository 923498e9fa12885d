//! A `&PerCpuCell` does not say which CPU it is of, so there is no way to commit on that CPU.
// fail: E0599
#![forbid(unsafe_code)]

use corelocal::{PerCpu, PerCpuCell};

pub fn count(hits: &PerCpu<PerCpuCell<u64>>) -> u64 {
    #[cfg(pass)]
    hits.add(1);
    #[cfg(fail)]
    hits.this().add(1);
    hits.this().load()
}
