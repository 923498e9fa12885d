// fail: E0515
//! A reader that is dropped gives the space of its records back.
use corelocal::PerCpuRing;

#[cfg(pass)]
type Bytes = Vec<u8>;
#[cfg(fail)]
type Bytes = &'static [u8];

pub fn first(ring: &'static PerCpuRing) -> Option<Bytes> {
    let mut reader = ring.reader().ok()?;
    let record = reader.drain().next()?;
    #[cfg(pass)]
    let bytes = record.bytes().to_vec();
    #[cfg(fail)]
    let bytes = record.bytes();
    Some(bytes)
}
