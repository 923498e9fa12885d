//! Offset 0 is no line's start if the struct need not begin on a line.
// fail: E0080
// phrase: Queue: group hot: member first (offset 0, size 8) does not begin on a line; limit: offset a multiple of 
// phrase: as the struct's alignment, 8
#![forbid(unsafe_code)]

#[repr(C)]
#[cfg_attr(pass, repr(align(512)))]
pub struct Queue {
    pub first: u64,
}

corelocal::cacheline_group! {
    Queue { group hot(aligned_if(corelocal::CACHE_LINE)) { first } }
}
