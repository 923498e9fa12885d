//! Two threads on one CPU have one copy, so sharing needs `T: Sync`. (Sending does not.)
//! <https://github.com/rust-lang/rust/issues/25894>
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;

use corelocal::PerCpu;

pub fn is_send<T: Send>() {}
pub fn is_sync<T: Sync>() {}

pub fn check() {
    is_send::<PerCpu<Cell<u8>>>();
    #[cfg(pass)]
    is_sync::<PerCpu<std::sync::atomic::AtomicU8>>();
    #[cfg(fail)]
    is_sync::<PerCpu<Cell<u8>>>();
}
