//! A field that is a `Box<u64>` is no `u64`, whatever type the token is annotated with.
// fail: E0308
#![forbid(unsafe_code)]

use corelocal::field;
use corelocal::field::Field;

pub struct Stats {
    pub reads: Box<u64>,
}

#[cfg(pass)]
pub const READS: Field<Stats, Box<u64>> = field!(Stats, reads);
#[cfg(fail)]
pub const READS: Field<Stats, u64> = field!(Stats, reads);
