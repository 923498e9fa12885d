//! What was loaded under a guard is not used when the guard is gone.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::AtomicPerCpu;
use corelocal::reclaim::pin;

pub fn length(names: &AtomicPerCpu<String>) -> usize {
    let guard = pin();
    let name = names.load(&guard);
    #[cfg(fail)]
    drop(guard);
    name.map_or(0, |name| name.this().len())
}
