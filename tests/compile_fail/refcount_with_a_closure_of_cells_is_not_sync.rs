//! The closure is called by whichever thread puts the last reference.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpuRefCount;
use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};

pub fn share(count: &(impl Sync + ?Sized)) {
    let _ = count;
}

pub fn check() {
    let (atomic, cell) = (AtomicU8::new(0), Cell::new(0_u8));
    share(&PerCpuRefCount::new(|| atomic.store(1, Ordering::Relaxed)));
    let alone = PerCpuRefCount::new(|| cell.set(1));
    alone.get();
    #[cfg(fail)]
    share(&alone);
}
