//! What is leaked lives for ever, so it borrows nothing that does not.
// fail: E0597
#![forbid(unsafe_code)]

use corelocal::{PerCpu, PerCpuRef};

pub fn leak() -> PerCpuRef<'static, &'static str> {
    #[cfg(fail)]
    let name = String::from("x");
    #[cfg(fail)]
    let name: &str = &name;
    #[cfg(pass)]
    let name = "x";
    PerCpu::leak(PerCpu::new(|_| name))
}
