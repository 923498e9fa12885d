//! A slot that borrows its vector dies first.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::{CpuId, Priority, PriorityVec};

pub fn check(vector: PriorityVec) {
    let mut slot = PriorityVec::claim(&vector, CpuId::new(0)).unwrap();
    #[cfg(fail)]
    drop(vector);
    let _ = slot.set(Priority::NORMAL);
}
