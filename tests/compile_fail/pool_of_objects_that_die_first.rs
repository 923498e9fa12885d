//! What idle objects borrow must live longer than the pool, which drops them.
// fail: E0597
#![forbid(unsafe_code)]

use corelocal::PerCpuPool;

pub fn check() {
    #[cfg(pass)]
    let text = String::new();
    let pool: PerCpuPool<Option<&String>> = PerCpuPool::new(|| None);
    #[cfg(fail)]
    let text = String::new();
    *pool.get() = Some(&text);
}
