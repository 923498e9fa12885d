//! A field of a union may hold no value of its type.
// fail: none E0133
#![forbid(unsafe_code)]

use corelocal::field;

#[cfg(pass)]
pub struct Word {
    pub number: u64,
    pub flag: bool,
}
#[cfg(fail)]
pub union Word {
    pub number: u64,
    pub flag: bool,
}

pub const FLAG: usize = field!(Word, flag).offset();
