//! Parts side by side are shared together.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;

use corelocal::colocated::CoLocated;

pub fn is_send<T: Send>() {}
pub fn is_sync<T: Sync>() {}

pub fn check() {
    is_send::<CoLocated<u8, Cell<u8>>>();
    #[cfg(pass)]
    is_sync::<CoLocated<u8, u8>>();
    #[cfg(fail)]
    is_sync::<CoLocated<u8, Cell<u8>>>();
}
