//! A shared guard shares its object.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::pool::Pooled;

pub fn is_sync<T: Sync>() {}

pub fn check() {
    #[cfg(pass)]
    is_sync::<Pooled<'static, u8>>();
    #[cfg(fail)]
    is_sync::<Pooled<'static, std::cell::Cell<u8>>>();
}
