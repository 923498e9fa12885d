//! What a part gives out lives no longer than the whole.
// fail: E0515
#![forbid(unsafe_code)]

use corelocal::colocated::CoLocated;

#[cfg(pass)]
pub fn second(pair: &CoLocated<u8, u64>) -> &u64 {
    pair.part_b().get()
}
#[cfg(fail)]
pub fn second<'a>() -> &'a u64 {
    let pair = CoLocated::new(1u8, 2u64, ());
    pair.part_b().get()
}
