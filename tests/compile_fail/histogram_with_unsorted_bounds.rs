//! A static's bounds are checked when the program is built.
// fail: E0080
// phrase: Fixed<N>: bounds ascend
#![forbid(unsafe_code)]

use corelocal::StaticHistogram;
use corelocal::histogram::Fixed;

#[cfg(pass)]
const SECOND: u64 = 11;
#[cfg(fail)]
const SECOND: u64 = 10;

pub static SIZES: StaticHistogram<3, Fixed<3>> = StaticHistogram::new(Fixed::new(&[10, SECOND]));
