//! A variant is not a type, so the path of one is no struct's.
// fail: E0573 E0308
#![forbid(unsafe_code)]

use corelocal::field;

pub struct Wake {
    pub cpu: u32,
}

pub enum Event {
    Wake { cpu: u32 },
    Sleep,
}

#[cfg(pass)]
pub const CPU: usize = field!(Wake, cpu).offset();
#[cfg(fail)]
pub const CPU: usize = field!(Event::Wake, cpu).offset();
