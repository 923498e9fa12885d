//! Its last reader may be on the thread that took it out.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;

use corelocal::reclaim::Unlinked;

pub fn is_send<T: Send>() {}

pub fn check() {
    #[cfg(pass)]
    is_send::<Unlinked<std::sync::atomic::AtomicU8>>();
    #[cfg(fail)]
    is_send::<Unlinked<Cell<u8>>>();
}
