//! A constant that is no real-time priority does not build.
// fail: E0080
// phrase: real-time priorities are 1 to 99
#![forbid(unsafe_code)]

use corelocal::Priority;

#[cfg(pass)]
pub const URGENT: Priority = Priority::rt(99);
#[cfg(fail)]
pub const URGENT: Priority = Priority::rt(100);
