//! What is borrowed from a guard goes back with it.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::PerCpuPool;

pub fn check(pool: &PerCpuPool<String>) -> usize {
    let object = pool.get();
    let text: &str = &object;
    #[cfg(pass)]
    {
        let length = text.len();
        drop(object);
        length
    }
    #[cfg(fail)]
    {
        drop(object);
        text.len()
    }
}
