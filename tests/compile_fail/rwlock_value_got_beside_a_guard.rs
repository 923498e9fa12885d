//! `get_mut` wants the lock for itself.
// fail: E0502
#![forbid(unsafe_code)]

use corelocal::PerCpuRwLock;

pub fn test(lock: &mut PerCpuRwLock<u32>) -> u32 {
    #[cfg(fail)]
    let guard = lock.read().unwrap();
    *lock.get_mut().unwrap() = 1;
    #[cfg(pass)]
    let guard = lock.read().unwrap();
    *guard
}
