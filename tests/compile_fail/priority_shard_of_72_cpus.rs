//! A shard is a line, and a line holds 64 CPUs.
// fail: E0080
// phrase: K is 8, 16, 24, ... or 64
// emit: obj
#![forbid(unsafe_code)]

use corelocal::{ByCpu, CpuId, PriorityVec};

#[cfg(pass)]
pub fn make() -> bool {
    PriorityVec::<ByCpu<64>>::try_new([CpuId::new(0)]).is_ok()
}
#[cfg(fail)]
pub fn make() -> bool {
    PriorityVec::<ByCpu<72>>::try_new([CpuId::new(0)]).is_ok()
}
