//! Readers share the value: what only one thread may look at cannot be in a lock that many read.
// fail: E0277
#![forbid(unsafe_code)]

#[cfg(pass)]
type Value = u32;
#[cfg(fail)]
type Value = std::cell::Cell<u32>;

fn sync<T: Sync>(_: &T) {}

pub fn test(lock: &corelocal::PerCpuRwLock<Value>) {
    sync(lock);
}
