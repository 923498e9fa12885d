//! A reference to a copy lives no longer than the handle that it came from may be used.
// fail: E0515
#![forbid(unsafe_code)]

use corelocal::AtomicPerCpu;
use corelocal::reclaim::{Guard, pin};

#[cfg(pass)]
pub fn name<'g>(names: &'g AtomicPerCpu<String>, guard: &'g Guard) -> Option<&'g String> {
    names.load(guard).map(|name| name.this())
}

#[cfg(fail)]
pub fn name(names: &AtomicPerCpu<String>) -> Option<&String> {
    names.load(&pin()).map(|name| name.this())
}

pub fn pins() {
    drop(pin as fn() -> Guard);
}
