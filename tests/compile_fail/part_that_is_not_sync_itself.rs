//! A whole may promise to be `Sync` while it keeps a part to itself; a `Part` gives it out.
// fail: E0277

use std::cell::Cell;

use corelocal::colocated::Part;

pub struct Guarded {
    cell: Cell<u64>,
}

// SAFETY: nobody reaches the cell.
unsafe impl Sync for Guarded {}

pub fn is_sync<T: Sync>() {}

#[cfg(pass)]
pub fn check() {
    is_sync::<Part<'static, Guarded, u64>>();
}
#[cfg(fail)]
pub fn check() {
    is_sync::<Part<'static, Guarded, Cell<u64>>>();
}
