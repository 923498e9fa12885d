//! Which part a method belongs to is always written.
// fail: E0599
#![forbid(unsafe_code)]

use corelocal::colocated::CoLocated;

pub fn length(pair: &CoLocated<String, u64>) -> usize {
    #[cfg(pass)]
    return pair.a().len();
    #[cfg(fail)]
    return pair.len();
}
