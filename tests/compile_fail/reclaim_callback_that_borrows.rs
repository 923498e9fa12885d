//! A callback runs at any time, so it must own what it uses.
// fail: E0373
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use corelocal::reclaim::{Unlinked, pin};

pub fn release(old: Unlinked<u8>) {
    let freed = Arc::new(AtomicUsize::new(0));
    #[cfg(pass)]
    old.retire_with(&pin(), move |_| freed.store(1, Ordering::Relaxed));
    #[cfg(fail)]
    old.retire_with(&pin(), |_| freed.store(1, Ordering::Relaxed));
}
