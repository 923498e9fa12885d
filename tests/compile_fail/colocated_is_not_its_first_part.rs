//! The first part lies at offset 0, and is yet not the whole.
// fail: E0614
#![forbid(unsafe_code)]

use corelocal::colocated::CoLocated;

pub fn first(pair: &CoLocated<u64, u64>) -> u64 {
    #[cfg(pass)]
    return *pair.a();
    #[cfg(fail)]
    return **pair;
}
