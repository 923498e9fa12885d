//! Counters are shared by threads as they are; what stands around them has to be shareable too.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::{BatchedCounter, CounterRef, CounterSet, PerCpuCounter, PerCpuGauge};
use corelocal::{StaticCounter, StaticGauge};

pub fn is_shared<T: Send + Sync>() {}

pub fn check() {
    is_shared::<(PerCpuCounter, PerCpuGauge, CounterRef<'_>, CounterSet, BatchedCounter)>();
    is_shared::<(StaticCounter, StaticGauge)>();
    #[cfg(fail)]
    is_shared::<std::rc::Rc<PerCpuCounter>>();
}
