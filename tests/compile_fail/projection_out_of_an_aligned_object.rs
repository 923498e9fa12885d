//! An alignment alone moves an object, and so its parts, to another stride.
// fail: E0080
// phrase: the two owner types have different strides
// emit: obj
#![forbid(unsafe_code)]

use corelocal::{PerCpuRef, field};

#[cfg_attr(pass, repr(align(64)))]
#[cfg_attr(fail, repr(align(1024)))]
pub struct Object {
    pub head: u64,
}

pub fn head(object: PerCpuRef<'_, Object>) -> PerCpuRef<'_, u64> {
    object.at(field!(Object, head)).with_owner()
}
