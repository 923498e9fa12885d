//! A field that a packed struct misaligns must not be referred to.
// fail: E0793
#![forbid(unsafe_code)]

use corelocal::field;
use corelocal::field::Field;

#[cfg_attr(fail, repr(C, packed))]
#[cfg_attr(pass, repr(C))]
pub struct Wire {
    pub tag: u8,
    pub length: u32,
}

pub const LENGTH: Field<Wire, u32> = field!(Wire, length);
