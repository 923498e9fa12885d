//! Pinning anew lets go of what was loaded before.
// fail: E0502
#![forbid(unsafe_code)]

use corelocal::AtomicPerCpu;
use corelocal::reclaim::pin;

pub fn length(names: &AtomicPerCpu<String>) -> usize {
    let mut guard = pin();
    #[cfg(pass)]
    guard.repin();
    let name = names.load(&guard);
    #[cfg(fail)]
    guard.repin();
    name.map_or(0, |name| name.this().len())
}
