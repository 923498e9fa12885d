//! One writer: a slot has no twin.
// fail: E0382
#![forbid(unsafe_code)]

use corelocal::{CpuSlot, PriorityVec};

#[cfg(pass)]
pub fn two(slot: CpuSlot<&PriorityVec>) -> [corelocal::CpuId; 2] {
    [slot.cpu(), slot.cpu()]
}
#[cfg(fail)]
pub fn two(slot: CpuSlot<&PriorityVec>) -> [CpuSlot<&PriorityVec>; 2] {
    [slot, slot]
}
