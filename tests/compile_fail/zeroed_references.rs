//! Zero bytes are no reference.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::PerCpu;

#[cfg(pass)]
pub fn make() -> PerCpu<Option<&'static u8>> {
    PerCpu::new(|_| None)
}
#[cfg(fail)]
pub fn make() -> PerCpu<&'static u8> {
    PerCpu::zeroed()
}
