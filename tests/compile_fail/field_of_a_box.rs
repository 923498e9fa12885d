//! A field of what a `Box` points to is not the box's: it lies in the heap.
// fail: E0026 E0609
#![forbid(unsafe_code)]

use corelocal::field;

pub struct Stats {
    pub reads: u64,
}

#[cfg(pass)]
pub const READS: usize = field!(Stats, reads).offset();
#[cfg(fail)]
pub const READS: usize = field!(Box<Stats>, reads).offset();
