//! An alignment is a power of two.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::cacheline::CacheLine;

#[cfg(pass)]
pub const SIZE: usize = size_of::<CacheLine<u8, 4>>();
#[cfg(fail)]
pub const SIZE: usize = size_of::<CacheLine<u8, 3>>();
