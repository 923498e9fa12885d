//! A writer on another thread could take the value out.
// fail: E0277
#![forbid(unsafe_code)]

use std::sync::MutexGuard;

#[cfg(pass)]
type Value = u32;
#[cfg(fail)]
type Value = MutexGuard<'static, u32>;

fn sync<T: Sync>(_: &T) {}

pub fn test(lock: &corelocal::PerCpuRwLock<Value>, guard: &MutexGuard<'static, u32>) {
    sync(guard);
    sync(lock);
}
