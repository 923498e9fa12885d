//! A guard borrows its lock.
// fail: E0505 E0597 E0713
#![forbid(unsafe_code)]

use corelocal::PerCpuRwLock;

pub fn test(lock: PerCpuRwLock<u32>) -> u32 {
    let guard = lock.read().unwrap();
    #[cfg(fail)]
    drop(lock);
    *guard
}
