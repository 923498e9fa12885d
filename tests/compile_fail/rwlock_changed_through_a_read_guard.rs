//! Readers read.
// fail: E0594 E0596
#![forbid(unsafe_code)]

use corelocal::PerCpuRwLock;

pub fn test(lock: &PerCpuRwLock<u32>) {
    #[cfg(pass)]
    let mut guard = lock.write().unwrap();
    #[cfg(fail)]
    let mut guard = lock.read().unwrap();
    *guard = 1;
}
