//! A wrong number of lines of padding, and which is right.
// fail: E0080
// phrase: CoLocated: 
// phrase: lines of 
// phrase: with 0 of padding; use Odd<1, _>
// emit: obj
#![forbid(unsafe_code)]

use corelocal::CACHE_LINE;
use corelocal::colocated::{CoLocated, Odd};

type Line = [u8; CACHE_LINE];
#[cfg(pass)]
pub type Two = CoLocated<Line, Line, (), Odd<1>>;
#[cfg(fail)]
pub type Two = CoLocated<Line, Line, (), Odd<0>>;

#[inline(never)]
pub fn two() -> Two {
    Two::placed([0; CACHE_LINE], [0; CACHE_LINE], ())
}
