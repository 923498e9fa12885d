//! A token is exact in lifetimes: through it a shorter-lived value could be written otherwise.
// fail: none
#![forbid(unsafe_code)]

use corelocal::field;
use corelocal::field::Field;

pub struct Named<'a> {
    pub name: &'a str,
}

#[cfg(pass)]
pub fn name<'a>(_: &'a str) -> Field<Named<'a>, &'a str> {
    field!(Named<'a>, name)
}
#[cfg(fail)]
pub fn name<'a>(_: &'a str) -> Field<Named<'static>, &'a str> {
    field!(Named<'static>, name)
}
