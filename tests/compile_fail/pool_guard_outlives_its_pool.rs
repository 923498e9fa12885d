//! An object in use goes back to its pool, which must be there then.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::PerCpuPool;

pub fn check(pool: PerCpuPool<u8>) {
    let object = pool.get();
    #[cfg(pass)]
    {
        drop(object);
        drop(pool);
    }
    #[cfg(fail)]
    {
        drop(pool);
        drop(object);
    }
}
