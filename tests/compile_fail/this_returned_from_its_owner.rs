//! A copy does not outlive the function that owns the object.
//! <https://github.com/asterinas/asterinas/pull/997>
// fail: E0515
#![forbid(unsafe_code)]

use corelocal::PerCpu;

#[cfg(pass)]
pub fn here(names: &PerCpu<String>) -> &str {
    names.here().1
}
#[cfg(fail)]
pub fn here<'a>() -> &'a str {
    let names = PerCpu::new(|_| String::new());
    names.here().1
}
