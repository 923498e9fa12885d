//! A slot frees its object at once when it is dropped, so its readers borrow it.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::AtomicPerCpu;
use corelocal::reclaim::pin;

pub fn length(names: AtomicPerCpu<String>) -> usize {
    let guard = pin();
    let name = names.load(&guard);
    #[cfg(fail)]
    drop(names);
    name.map_or(0, |name| name.this().len())
}
