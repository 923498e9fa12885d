//! One writer: two threads with a `&CpuSlot` each cannot both set.
// fail: E0596
#![forbid(unsafe_code)]

use corelocal::{CpuSlot, Priority, PriorityVec};

#[cfg(pass)]
pub fn set(slot: &mut CpuSlot<&PriorityVec>) {
    let _ = slot.set(Priority::NORMAL);
}
#[cfg(fail)]
pub fn set(slot: &CpuSlot<&PriorityVec>) {
    let _ = slot.set(Priority::NORMAL);
}
