//! A part can reach the whole, so no other part may be changed while it is there.
// fail: E0502
#![forbid(unsafe_code)]

use corelocal::colocated::CoLocated;

pub fn sum() -> u64 {
    let mut pair = CoLocated::new(1u64, 2u64, ());
    let part = pair.part_b();
    #[cfg(pass)]
    let second = *part;
    *pair.a_mut() = 5;
    #[cfg(fail)]
    let second = *part;
    second
}
