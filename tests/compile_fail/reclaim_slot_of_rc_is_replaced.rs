//! What is taken out is dropped by any thread, so what must stay with one cannot be taken out.
// fail: E0599
#![forbid(unsafe_code)]

use corelocal::AtomicPerCpu;
use corelocal::reclaim::pin;
#[cfg(pass)]
use std::sync::Arc as Shared;
#[cfg(fail)]
use std::rc::Rc as Shared;

pub fn empty(slot: &AtomicPerCpu<Shared<u8>>) {
    drop(slot.swap(None, &pin()));
}
