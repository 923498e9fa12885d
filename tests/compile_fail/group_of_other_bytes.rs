//! A group that promises to fill its bytes exactly.
// fail: E0080
// phrase: Queue: group hot: 12 bytes, limit exactly 16; the last are those of member b (offset 8, size 4)
#![forbid(unsafe_code)]

corelocal::cacheline_struct! {
    pub struct Queue {
        group hot(bytes == 16) { a: u64, b: u32, #[cfg(pass)] c: u32 }
    }
}
