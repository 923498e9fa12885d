//! 496 log-linear buckets hold every value when there are eight a power of two: more would never be
//! used.
// fail: E0080
// phrase: LogLinear: N buckets do not exist: at least 1, at most LogLinear::<BITS>::MOST
// emit: obj
#![forbid(unsafe_code)]

use corelocal::PerCpuHistogram;
use corelocal::histogram::LogLinear;

#[cfg(pass)]
const N: usize = LogLinear::<3>::MOST;
#[cfg(fail)]
const N: usize = LogLinear::<3>::MOST + 1;

pub fn check() {
    let _ = PerCpuHistogram::<N>::new(LogLinear);
}
