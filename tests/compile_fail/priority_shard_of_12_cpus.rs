//! A shard is made of whole words, and of a line at most.
// fail: E0080
// phrase: K is 8, 16, 24, ... or 64
// emit: obj
#![forbid(unsafe_code)]

use corelocal::{ByCpu, CpuId, PriorityVec};

#[cfg(pass)]
pub fn make() -> bool {
    PriorityVec::<ByCpu<16>>::try_new([CpuId::new(0)]).is_ok()
}
#[cfg(fail)]
pub fn make() -> bool {
    PriorityVec::<ByCpu<12>>::try_new([CpuId::new(0)]).is_ok()
}
