//! The thread that drops a per-CPU object drops the copies of all lanes.
//! <https://github.com/feather-rs/feather/pull/557>
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpu;

pub fn is_send<T: Send>() {}

pub fn check() {
    #[cfg(pass)]
    is_send::<PerCpu<std::sync::Arc<u8>>>();
    #[cfg(fail)]
    is_send::<PerCpu<std::rc::Rc<u8>>>();
}
