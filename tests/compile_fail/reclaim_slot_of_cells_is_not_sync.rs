//! Whoever loads from a slot shares a copy with others. (Sending the slot does not.)
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;

use corelocal::AtomicPerCpu;

pub fn is_send<T: Send>() {}
pub fn is_sync<T: Sync>() {}

pub fn check() {
    is_send::<AtomicPerCpu<Cell<u8>>>();
    #[cfg(pass)]
    is_sync::<AtomicPerCpu<std::sync::atomic::AtomicU8>>();
    #[cfg(fail)]
    is_sync::<AtomicPerCpu<Cell<u8>>>();
}
