//! A group that is larger than it promises: the upper bound that the kernel checks.
// fail: E0080
// phrase: Queue: group hot: 20 bytes, limit 16; the last are those of member third (offset 24, size 4)
#![forbid(unsafe_code)]

corelocal::cacheline_struct! {
    pub struct Queue {
        before: u64,
        group hot(bytes <= 2 * size_of::<u64>()) {
            first: u64,
            second: u32,
            #[cfg(fail)]
            more: u32,
            third: u32,
        }
    }
}
