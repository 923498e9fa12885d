//! There is one owner: it is what ends the counting on CPUs.
// fail: E0599
#![forbid(unsafe_code)]

use corelocal::PerCpuArcOwner;
use std::sync::Mutex;

pub fn check(owner: PerCpuArcOwner<Mutex<u8>>) {
    #[cfg(pass)]
    let _ = (owner.share(), owner.share().clone());
    #[cfg(fail)]
    let _ = (owner.share(), owner.clone());
}
