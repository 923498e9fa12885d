//! Between the stages others may use what the callback uses.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::reclaim::{Unlinked, pin};
#[cfg(pass)]
type Number = std::sync::atomic::AtomicU8;
#[cfg(fail)]
type Number = std::cell::Cell<u8>;

pub fn release(old: Unlinked<Number>) {
    old.retire_in_stages(&pin(), |_| {});
}
