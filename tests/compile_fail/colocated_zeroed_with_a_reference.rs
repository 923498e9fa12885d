//! A part that may not be zero bytes keeps the whole from being so.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::colocated;

colocated! {
    pub struct Named { count: u64, name: Text }
}

#[cfg(pass)]
pub type Text = [u8; 8];
#[cfg(fail)]
pub type Text = &'static str;

pub fn is_zeroable<T: corelocal::bytemuck::Zeroable>() {}

pub fn check() {
    is_zeroable::<Named>();
}
