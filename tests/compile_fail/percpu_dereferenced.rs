//! A handle is not a pointer: it does not say which CPU's copy is meant.
// fail: E0614
#![forbid(unsafe_code)]

use corelocal::PerCpu;

pub fn read(copies: &PerCpu<u64>) -> u64 {
    #[cfg(pass)]
    return *copies.this();
    #[cfg(fail)]
    return **copies;
}
