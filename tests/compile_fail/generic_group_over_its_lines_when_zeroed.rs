//! Zeroed memory is not built from parts, and is checked all the same.
// fail: E0080
// phrase: Slot: group hot: 
// phrase: bytes, limit 16; the last are those of member flag (offset 16, size 1)
// emit: obj
#![forbid(unsafe_code)]

use corelocal::PerCpu;

corelocal::cacheline_struct! {
    pub struct Slot<T> { group hot(bytes <= 16) { value: T, flag: u8 } }
}

#[cfg(pass)]
#[inline(never)]
pub fn slots() -> PerCpu<Slot<u64>> {
    PerCpu::zeroed()
}
#[cfg(fail)]
#[inline(never)]
pub fn slots() -> PerCpu<Slot<u128>> {
    PerCpu::zeroed()
}
