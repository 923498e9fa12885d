//! A handle is not a pointer: it does not say which CPU's copy is meant.
// fail: E0614
#![forbid(unsafe_code)]

use corelocal::PerCpuRef;

pub fn read(copies: PerCpuRef<'_, u64>) -> u64 {
    #[cfg(pass)]
    return *copies.this();
    #[cfg(fail)]
    return *copies;
}
