//! A handle in another thread leads to the same copies.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::AtomicU8;

use corelocal::PerCpuRef;

pub fn is_send<T: Send>() {}
pub fn is_sync<T: Sync>() {}

#[cfg(pass)]
pub type Copied = AtomicU8;
#[cfg(fail)]
pub type Copied = Cell<u8>;

pub fn check() {
    is_send::<PerCpuRef<'static, Copied>>();
}
