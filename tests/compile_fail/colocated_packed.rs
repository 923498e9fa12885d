//! Packing would misalign the parts.
// fail: E0793
#![forbid(unsafe_code)]

use corelocal::colocated;

colocated! {
    #[cfg_attr(fail, repr(packed))]
    pub struct Wire { tag: u8, length: u32 }
}
