//! The owner changes an object only where nobody reads it.
// fail: E0502
#![forbid(unsafe_code)]

use corelocal::AtomicPerCpu;
use corelocal::reclaim::pin;

pub fn lengthen(names: &mut AtomicPerCpu<String>) -> usize {
    let guard = pin();
    #[cfg(fail)]
    let name = names.load(&guard);
    if let Some(names) = names.get_mut() {
        names.iter_mut().for_each(|(_, name)| name.push('!'));
    }
    #[cfg(pass)]
    let name = names.load(&guard);
    name.map_or(0, |name| name.this().len())
}
