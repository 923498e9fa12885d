//! A handle to a histogram borrows its lanes and its bounds.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::PerCpuHistogram;
use corelocal::histogram::Fixed;

pub fn check() {
    let histogram = PerCpuHistogram::<3, _>::new(Fixed::new(&[1, 2]));
    let handle = histogram.as_ref();
    #[cfg(fail)]
    drop(histogram);
    handle.record(1);
}
