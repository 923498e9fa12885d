//! A pool that is sent takes its objects along.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpuPool;

pub fn is_send<T: Send>() {}

pub fn check() {
    #[cfg(pass)]
    is_send::<PerCpuPool<std::sync::Arc<u8>>>();
    #[cfg(fail)]
    is_send::<PerCpuPool<std::rc::Rc<u8>>>();
}
