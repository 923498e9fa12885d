//! A token of one struct is not one of another, even if the field has the same name and type.
// fail: E0308
#![forbid(unsafe_code)]

use corelocal::field;
use corelocal::field::Field;

pub struct Read {
    pub bytes: u64,
}

pub struct Write {
    pub calls: u32,
    pub bytes: u64,
}

#[cfg(pass)]
pub const BYTES: Field<Write, u64> = field!(Write, bytes);
#[cfg(fail)]
pub const BYTES: Field<Write, u64> = field!(Read, bytes);
