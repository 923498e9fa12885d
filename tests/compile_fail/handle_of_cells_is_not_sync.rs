//! A handle is `Copy`, so sharing one is sending it. The owner's type does not matter.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;

use corelocal::PerCpuRef;

pub fn is_sync<T: Sync>() {}

pub fn check() {
    #[cfg(pass)]
    is_sync::<PerCpuRef<'static, u8, Cell<u8>>>();
    #[cfg(fail)]
    is_sync::<PerCpuRef<'static, Cell<u8>, u8>>();
}
