//! What is taken out is dropped at any time, so it must not borrow.
// fail: E0521
#![forbid(unsafe_code)]

use corelocal::AtomicPerCpu;
use corelocal::reclaim::pin;

pub struct Loud<'a>(pub &'a str);

impl Drop for Loud<'_> {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

#[cfg(pass)]
pub fn empty(slot: &AtomicPerCpu<Loud<'static>>) {
    drop(slot.swap(None, &pin()));
}

#[cfg(fail)]
pub fn empty<'a>(slot: &AtomicPerCpu<Loud<'a>>) {
    drop(slot.swap(None, &pin()));
}
