//! A copy belongs to a CPU, not to a thread: what a thread must keep to itself is no copy.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpu;

pub fn is_sync<T: Sync>() {}

pub fn check() {
    #[cfg(pass)]
    is_sync::<PerCpu<std::sync::Arc<u8>>>();
    #[cfg(fail)]
    is_sync::<PerCpu<std::rc::Rc<u8>>>();
}
