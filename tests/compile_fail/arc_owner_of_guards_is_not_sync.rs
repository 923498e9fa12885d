//! With a shared owner another thread makes an arc, and drops the value with it.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpuArcOwner;

pub fn is_shared<T: Sync>() {}

pub fn check() {
    is_shared::<PerCpuArcOwner<std::sync::Mutex<u8>>>();
    #[cfg(fail)]
    is_shared::<PerCpuArcOwner<std::sync::MutexGuard<'static, u8>>>();
}
