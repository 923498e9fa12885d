//! An iterator gives out what a reference to the object does.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::AtomicU8;

use corelocal::PerCpu;

pub fn is_send<T: Send>(_: T) {}

#[cfg(pass)]
pub fn check(copies: &PerCpu<AtomicU8>) {
    is_send(copies.iter());
}
#[cfg(fail)]
pub fn check(copies: &PerCpu<Cell<u8>>) {
    is_send(copies.iter());
}
