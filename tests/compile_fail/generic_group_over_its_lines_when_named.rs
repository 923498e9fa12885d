//! A generic struct is checked by `cargo check` where a constant names its check.
// fail: E0080
// phrase: Slot: group hot: 
// phrase: bytes, limit 16; the last are those of member flag (offset 16, size 1)
#![forbid(unsafe_code)]

corelocal::cacheline_struct! {
    pub struct Slot<T> { group hot(bytes <= 16) { value: T, flag: u8 } }
}

#[cfg(pass)]
pub const CHECKED: () = Slot::<u64>::CHECKED;
#[cfg(fail)]
pub const CHECKED: () = Slot::<u128>::CHECKED;
