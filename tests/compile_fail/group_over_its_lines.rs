//! A group that lies on more lines than it promises.
// fail: E0080
// phrase: Queue: group hot: 
// phrase: limit 1; the last is that of member second (offset 512, size 1)
#![forbid(unsafe_code)]

corelocal::cacheline_struct! {
    #[repr(align(512))]
    pub struct Queue {
        group hot(lines <= 1) { first: u8, #[cfg(fail)] fill: [u8; 511], second: u8 }
        rest: [u8; 2000],
    }
}
