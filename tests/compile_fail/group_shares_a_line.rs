//! A group that wants its lines to itself, and a field beside it.
// fail: E0080
// phrase: Queue: group hot: member first (offset 0, size 1) shares a line with other (offset 1, size 1); limit: no common line of 
#![forbid(unsafe_code)]

#[cfg_attr(pass, repr(align(512)))]
pub struct Other(#[allow(dead_code)] u8);

corelocal::cacheline_struct! {
    #[repr(align(512))]
    pub struct Queue {
        group hot(exclusive) { first: u8 }
        other: Other,
    }
}
