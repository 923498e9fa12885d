//! A shared guard shares its object, whoever owns the pool.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::pool::OwnedPooled;

pub fn is_sync<T: Sync>() {}

pub fn check() {
    #[cfg(pass)]
    is_sync::<OwnedPooled<u8>>();
    #[cfg(fail)]
    is_sync::<OwnedPooled<std::cell::Cell<u8>>>();
}
