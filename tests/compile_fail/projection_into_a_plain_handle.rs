//! A part of a large object lies at the large object's stride, and its handle says so.
// fail: E0308
#![forbid(unsafe_code)]

use corelocal::{PerCpuRef, field};

pub struct Large {
    pub head: u64,
    pub body: [u8; 100_000],
}

#[cfg(pass)]
pub fn head(large: PerCpuRef<'_, Large>) -> PerCpuRef<'_, u64, Large> {
    large.at(field!(Large, head))
}
#[cfg(fail)]
pub fn head(large: PerCpuRef<'_, Large>) -> PerCpuRef<'_, u64> {
    large.at(field!(Large, head))
}
