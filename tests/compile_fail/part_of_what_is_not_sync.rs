//! Two threads with a part of one whole share the whole.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;

use corelocal::colocated::{CoLocated, Part};

pub fn is_send<T: Send>() {}

#[cfg(pass)]
pub fn check() {
    is_send::<Part<'static, CoLocated<u8, u64>, u8>>();
}
#[cfg(fail)]
pub fn check() {
    is_send::<Part<'static, CoLocated<u8, Cell<u64>>, u8>>();
}
