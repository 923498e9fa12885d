//! The last reference drops the value on its own thread, so the value has to be one that may go there.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::{PerCpuArc, PerCpuArcOwner};

pub fn is_shared<T: Send + Sync>() {}

pub fn check() {
    is_shared::<(PerCpuArc<String>, PerCpuArcOwner<String>)>();
    #[cfg(fail)]
    is_shared::<PerCpuArc<std::rc::Rc<u8>>>();
}
