// fail: E0499
//! A reader is at one place in each lane.
use corelocal::PerCpuRing;

pub fn twice(ring: &PerCpuRing) -> usize {
    let mut reader = ring.reader().expect("nobody else reads");
    let one = reader.drain();
    #[cfg(pass)]
    let one = one.count();
    let other = reader.drain().count();
    #[cfg(fail)]
    let one = one.count();
    one + other
}
