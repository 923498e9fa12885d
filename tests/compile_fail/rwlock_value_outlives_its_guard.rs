//! What a guard leads to is borrowed from the guard, not from the lock.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::PerCpuRwLock;

pub fn test(lock: &PerCpuRwLock<String>) -> usize {
    let guard = lock.read().unwrap();
    let text: &str = &guard;
    #[cfg(fail)]
    drop(guard);
    text.len()
}
