//! A slot goes where its pointer may go: its vector is shared with other threads already.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::{CpuSlot, PriorityVec};

pub fn is_send<T: Send>() {}

pub fn check() {
    is_send::<CpuSlot<&'static PriorityVec>>();
    #[cfg(pass)]
    is_send::<CpuSlot<std::sync::Arc<PriorityVec>>>();
    #[cfg(fail)]
    is_send::<CpuSlot<std::rc::Rc<PriorityVec>>>();
}
