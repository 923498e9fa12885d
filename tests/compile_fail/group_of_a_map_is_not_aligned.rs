//! What someone else defined cannot be placed, but it can be checked.
// fail: E0080
// phrase: Queue: group hot: member second (offset 8, size 8) does not begin on a line; limit: offset a multiple of 
#![forbid(unsafe_code)]

#[repr(C, align(512))]
pub struct Queue {
    pub first: u64,
    pub second: u64,
}

#[cfg(pass)]
corelocal::cacheline_group! { Queue { group hot(aligned) { first, second } } }
#[cfg(fail)]
corelocal::cacheline_group! { Queue { group hot(aligned) { second } } }
