//! A shared iterator can be cloned, and the clone gives out the copies.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::AtomicU8;

use corelocal::PerCpu;

pub fn is_sync<T: Sync>(_: T) {}

#[cfg(pass)]
pub fn check(copies: &PerCpu<AtomicU8>) {
    is_sync(copies.iter_cpus());
}
#[cfg(fail)]
pub fn check(copies: &PerCpu<Cell<u8>>) {
    is_sync(copies.iter_cpus());
}
