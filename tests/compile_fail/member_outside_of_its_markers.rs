//! The kernel's check of a group between two marker fields.
// fail: E0080
// phrase: Queue: group hot: member c (offset 16, size 8) does not lie within the limit, from begin (offset 0, size 0) to end (offset 16, size 0)
#![forbid(unsafe_code)]

#[repr(C)]
pub struct Queue {
    pub begin: [u8; 0],
    pub a: u64,
    pub b: u64,
    pub end: [u8; 0],
    pub c: u64,
}

#[cfg(pass)]
corelocal::cacheline_group! { Queue { group hot(within(begin ..= end)) { a, b } begin, end } }
#[cfg(fail)]
corelocal::cacheline_group! { Queue { group hot(within(begin ..= end)) { a, c } begin, end } }
