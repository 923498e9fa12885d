//! A pool keeps its constructor, and may be static.
// fail: E0373 E0597
#![forbid(unsafe_code)]

use corelocal::PerCpuPool;

pub fn check() -> PerCpuPool<usize> {
    let text = String::from("abc");
    #[cfg(pass)]
    return PerCpuPool::new(move || text.len());
    #[cfg(fail)]
    return PerCpuPool::new(|| text.len());
}
