//! A group that wants its lines to itself, in a struct that shares its last line with whatever
//! lies behind it.
// fail: E0080
// phrase: Queue: group hot: member first (offset 0, size 1) may share a line with what lies beside the struct
// phrase: aligned to 1 byte only; limit: lines of 
#![forbid(unsafe_code)]

#[cfg(pass)]
corelocal::cacheline_struct! {
    pub struct Queue { group hot(aligned, exclusive) { first: u8 } }
}
#[cfg(fail)]
corelocal::cacheline_struct! {
    pub struct Queue { group hot(exclusive) { first: u8 } }
}
