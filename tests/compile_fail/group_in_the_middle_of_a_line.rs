//! A struct that may begin anywhere in a line: its first two bytes may lie on two.
// fail: E0080
// phrase: Queue: group hot: 2 lines of 
// phrase: limit 1; the last is that of member second (offset 1, size 1)
// phrase: the struct is aligned to 1 byte only, so it may begin in the middle of a line
#![forbid(unsafe_code)]

corelocal::cacheline_struct! {
    #[cfg_attr(pass, repr(align(2)))]
    pub struct Queue {
        group hot(lines <= 1) { first: u8, second: u8 }
    }
}
