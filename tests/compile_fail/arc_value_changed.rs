//! Nobody knows that he is the only one, so an arc never gives a `&mut` out.
// fail: E0594 E0596
#![forbid(unsafe_code)]

use corelocal::{PerCpuArc, PerCpuArcOwner};
use std::sync::atomic::{AtomicU8, Ordering};

pub fn check(owner: PerCpuArcOwner<(AtomicU8, u8)>) -> PerCpuArc<(AtomicU8, u8)> {
    #[allow(unused_mut)]
    let mut arc = owner.share();
    #[cfg(pass)]
    arc.0.store(1, Ordering::Relaxed);
    #[cfg(fail)]
    {
        arc.1 = 1;
    }
    arc
}
