//! An object goes from thread to thread: one that must stay with its thread is no pool's.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpuPool;

pub fn is_sync<T: Sync>() {}

pub fn check() {
    // A `Cell` may be sent, and has one user at a time.
    #[cfg(pass)]
    is_sync::<PerCpuPool<std::cell::Cell<u8>>>();
    #[cfg(fail)]
    is_sync::<PerCpuPool<std::rc::Rc<u8>>>();
}
