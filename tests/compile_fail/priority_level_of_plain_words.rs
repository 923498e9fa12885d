//! A mask that several threads change is made of atomics.
//! <https://github.com/OpenDataPlane/odp/pull/1548>
// fail: E0599
#![forbid(unsafe_code)]

use core::sync::atomic::AtomicU64;
use corelocal::{CpuId, Level};

#[cfg(pass)]
pub fn enter(level: &Level<[AtomicU64; 2]>) -> bool {
    level.enter(CpuId::new(3)).is_ok()
}
#[cfg(fail)]
pub fn enter(level: &Level<[u64; 2]>) -> bool {
    level.enter(CpuId::new(3)).is_ok()
}
