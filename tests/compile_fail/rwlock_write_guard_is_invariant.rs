//! Were a write guard covariant, what dies first could be put into the lock through it.
// fail: E0597
#![forbid(unsafe_code)]

use corelocal::PerCpuRwLock;
use corelocal::rwlock::WriteGuard;

pub fn test(lock: &PerCpuRwLock<&'static str>) {
    let text = String::from("short-lived");
    let mut guard: WriteGuard<'_, &str> = lock.write().unwrap();
    #[cfg(pass)]
    {
        *guard = "long-lived";
        drop(text);
    }
    #[cfg(fail)]
    {
        *guard = text.as_str();
    }
}
