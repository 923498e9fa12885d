// fail: E0499
//! A record lies in the ring until its space is given back, which nobody does while it is looked at.
use corelocal::PerCpuRing;

pub fn keep(ring: &PerCpuRing) -> usize {
    let mut reader = ring.reader().expect("nobody else reads");
    let records: Vec<_> = reader.drain().collect();
    #[cfg(pass)]
    let kept: Vec<Vec<u8>> = records.iter().map(|record| record.bytes().to_vec()).collect();
    #[cfg(fail)]
    let kept = records;
    reader.give_back();
    kept.len()
}
