//! With one level nobody is below anybody.
// fail: E0080
// phrase: a vector has 2 to 127 levels
// emit: obj
#![forbid(unsafe_code)]

use corelocal::{ByCpu, CpuId, PriorityVec};

#[cfg(pass)]
pub fn make() -> bool {
    PriorityVec::<ByCpu, 2>::try_new([CpuId::new(0)]).is_ok()
}
#[cfg(fail)]
pub fn make() -> bool {
    PriorityVec::<ByCpu, 1>::try_new([CpuId::new(0)]).is_ok()
}
