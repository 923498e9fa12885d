//! An arc leads other threads to its value, so the value has to be one that threads may share.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpuArcOwner;
use std::cell::Cell;
use std::sync::atomic::AtomicU8;

pub fn check() {
    #[cfg(pass)]
    let owner = PerCpuArcOwner::new(AtomicU8::new(0));
    #[cfg(fail)]
    let owner = PerCpuArcOwner::new(Cell::new(0_u8));
    let arc = owner.share();
    std::thread::spawn(move || drop(arc));
}
