//! A level is seven bits, and one value stands for none.
// fail: E0080
// phrase: a vector has 2 to 127 levels
// emit: obj
#![forbid(unsafe_code)]

use corelocal::{CpuId, Padded, PriorityVec};

#[cfg(pass)]
pub fn make() -> bool {
    PriorityVec::<Padded, 127>::try_new([CpuId::new(0)]).is_ok()
}
#[cfg(fail)]
pub fn make() -> bool {
    PriorityVec::<Padded, 128>::try_new([CpuId::new(0)]).is_ok()
}
