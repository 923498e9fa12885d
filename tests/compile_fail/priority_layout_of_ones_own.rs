//! The layouts are these four: what others would write could break the promises.
// fail: E0277
#![forbid(unsafe_code)]

#[cfg(pass)]
pub type Mine = corelocal::Packed;

#[cfg(fail)]
pub struct Mine;
#[cfg(fail)]
impl corelocal::priority::Layout for Mine {
    const NAME: &'static str = "Mine";
    type Table<const LEVELS: usize, W: corelocal::priority::Words> =
        <corelocal::Packed as corelocal::priority::Layout>::Table<LEVELS, W>;
}

pub const NAME: &str = <Mine as corelocal::priority::Layout>::NAME;
