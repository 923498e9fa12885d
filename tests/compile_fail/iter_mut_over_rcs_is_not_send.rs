//! What gives out `&mut T` may go where `T` may.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::rc::Rc;

use corelocal::PerCpu;

pub fn is_send<T: Send>(_: T) {}

#[cfg(pass)]
pub fn check(copies: &mut PerCpu<Cell<u8>>) {
    is_send(copies.iter_mut());
}
#[cfg(fail)]
pub fn check(copies: &mut PerCpu<Rc<u8>>) {
    is_send(copies.iter_mut());
}
