//! A copy lives as long as the object.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::PerCpu;

pub fn length(names: PerCpu<String>) -> usize {
    let name = names.this();
    #[cfg(fail)]
    drop(names);
    name.len()
}
