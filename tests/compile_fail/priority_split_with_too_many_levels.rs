//! Eight lines of counts hold 113 levels.
// fail: E0080
// phrase: more levels than COUNT_LINES hold
// emit: obj
#![forbid(unsafe_code)]

use corelocal::{CpuId, PriorityVec, Split};

#[cfg(pass)]
pub fn make() -> bool {
    PriorityVec::<Split<8>, 113>::try_new([CpuId::new(0)]).is_ok()
}
#[cfg(fail)]
pub fn make() -> bool {
    PriorityVec::<Split<8>, 114>::try_new([CpuId::new(0)]).is_ok()
}
