// fail: E0505
//! A reader reads what the ring owns.
use corelocal::PerCpuRing;

pub fn end(ring: PerCpuRing) -> usize {
    let mut reader = ring.reader().expect("nobody else reads");
    #[cfg(fail)]
    drop(ring);
    reader.drain().count()
}
