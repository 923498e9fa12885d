//! A promise that there is not.
// fail: none
// phrase: no such promise: exclusiv; there are lines <= N
#![forbid(unsafe_code)]

#[cfg(pass)]
corelocal::cacheline_struct! { pub struct Queue { group hot(aligned, exclusive) { a: u8 } } }
#[cfg(fail)]
corelocal::cacheline_struct! { pub struct Queue { group hot(aligned, exclusiv) { a: u8 } } }
