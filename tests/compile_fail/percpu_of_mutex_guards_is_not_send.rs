//! A lock is released by the thread that took it.
//! <https://github.com/Amanieu/thread_local-rs/issues/18>
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpu;

pub fn is_send<T: Send>() {}

pub fn check() {
    #[cfg(pass)]
    is_send::<PerCpu<std::sync::Mutex<u8>>>();
    #[cfg(fail)]
    is_send::<PerCpu<std::sync::MutexGuard<'static, u8>>>();
}
