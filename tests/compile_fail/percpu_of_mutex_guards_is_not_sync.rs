//! A guard is `Sync`, but not `Send`; whoever shares the object can be the one that drops it.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpu;

pub fn is_sync<T: Sync>() {}

pub fn check() {
    is_sync::<std::sync::MutexGuard<'static, u8>>();
    #[cfg(pass)]
    is_sync::<PerCpu<std::sync::Mutex<u8>>>();
    #[cfg(fail)]
    is_sync::<PerCpu<std::sync::MutexGuard<'static, u8>>>();
}
