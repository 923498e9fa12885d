//! Single lanes of a counter are nobody's: a `swap` on one would undo what was taken.
// fail: E0599
#![forbid(unsafe_code)]

use corelocal::{PerCpuCounter, PerCpuGauge};

pub fn update(counter: &PerCpuCounter, gauge: &PerCpuGauge) {
    #[cfg(pass)]
    gauge.as_ref().swap(0);
    #[cfg(fail)]
    counter.as_ref().swap(0);
    counter.add(1);
    gauge.dec();
}
