//! A field of a variant is there only while the value is of that variant.
// fail: E0573 E0574 E0599 E0658
#![forbid(unsafe_code)]

use corelocal::field;

#[cfg(pass)]
pub struct Event {
    pub cpu: u32,
}
#[cfg(fail)]
pub enum Event {
    Wake { cpu: u32 },
    Sleep,
}

pub const CPU: usize = field!(Event, cpu).offset();
