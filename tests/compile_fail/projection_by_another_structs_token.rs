//! A token is good for handles to its own struct only.
// fail: E0308
#![forbid(unsafe_code)]

use corelocal::{PerCpu, field};

pub struct Read {
    pub bytes: u64,
}

pub struct Write {
    pub calls: u32,
    pub bytes: u64,
}

pub fn bytes(reads: &PerCpu<Read>) -> u64 {
    #[cfg(pass)]
    return *reads.at(field!(Read, bytes)).this();
    #[cfg(fail)]
    return *reads.at(field!(Write, bytes)).this();
}
