//! A part of a large object is not at the stride of an object of its own type.
// fail: E0080
// phrase: the two owner types have different strides
// emit: obj
#![forbid(unsafe_code)]

use corelocal::{PerCpuRef, field};

pub struct Object {
    pub head: u64,
    #[cfg(pass)]
    pub body: [u8; 1_000],
    #[cfg(fail)]
    pub body: [u8; 100_000],
}

pub fn head(object: PerCpuRef<'_, Object>) -> PerCpuRef<'_, u64> {
    object.at(field!(Object, head)).with_owner()
}
