//! As it is sent, so it is shared.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::{CpuSlot, PriorityVec};

pub fn is_sync<T: Sync>() {}

pub fn check() {
    #[cfg(pass)]
    is_sync::<CpuSlot<std::sync::Arc<PriorityVec>>>();
    #[cfg(fail)]
    is_sync::<CpuSlot<std::rc::Rc<PriorityVec>>>();
}
