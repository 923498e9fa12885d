//! A part lives in its whole.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::colocated::CoLocated;

pub fn sum() -> u64 {
    let pair = CoLocated::new(String::new(), 2u64, ());
    let part = pair.part_b();
    #[cfg(fail)]
    drop(pair);
    *part
}
