//! A counter only grows, or a take could not tell what is left: what goes down is a gauge.
// fail: E0599
#![forbid(unsafe_code)]

use corelocal::{PerCpuCounter, PerCpuGauge};

pub fn update(counter: &PerCpuCounter, gauge: &PerCpuGauge) {
    counter.inc();
    #[cfg(pass)]
    gauge.dec();
    #[cfg(fail)]
    counter.dec();
}
