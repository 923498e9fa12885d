//! A group that promises an exact number of lines, and grew: or shrank.
// fail: E0080
// phrase: Queue: group all: 1 line of 
// phrase: limit exactly 2; the last is that of member wait (offset 8, size 4)
#![forbid(unsafe_code)]

use corelocal::CACHE_LINE;

#[cfg(pass)]
const LINES: usize = 1;
#[cfg(fail)]
const LINES: usize = 2;

corelocal::cacheline_struct! {
    #[repr(align(512))]
    pub struct Queue {
        group all(lines == LINES) { run: [u32; 2], wait: u32 }
        rest: [u8; CACHE_LINE],
    }
}
