//! Drained objects still know the pool that they count in.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::PerCpuPool;

pub fn check(pool: PerCpuPool<u8>) {
    let found = pool.drain();
    #[cfg(pass)]
    {
        drop(found);
        drop(pool);
    }
    #[cfg(fail)]
    {
        drop(pool);
        drop(found);
    }
}
