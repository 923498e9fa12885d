//! A generic struct is checked when code that builds one is generated.
// fail: E0080
// phrase: Slot: group hot: 
// phrase: limit 1; the last is that of member flag (offset 512, size 1)
// emit: obj
#![forbid(unsafe_code)]

corelocal::cacheline_struct! {
    #[derive(Default)]
    #[repr(align(512))]
    pub struct Slot<T> { group hot(lines <= 1) { value: T, flag: u8 } }
}

#[derive(Default)]
#[repr(align(512))]
pub struct Page(u8);

#[cfg(pass)]
pub fn slot() -> Slot<u8> {
    Slot::default()
}
#[cfg(fail)]
pub fn slot() -> Slot<Page> {
    Slot::default()
}
