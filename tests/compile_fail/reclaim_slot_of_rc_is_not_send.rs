//! A slot owns what is in it.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::AtomicPerCpu;

pub fn is_send<T: Send>() {}

pub fn check() {
    #[cfg(pass)]
    is_send::<AtomicPerCpu<std::sync::Arc<u8>>>();
    #[cfg(fail)]
    is_send::<AtomicPerCpu<std::rc::Rc<u8>>>();
}
