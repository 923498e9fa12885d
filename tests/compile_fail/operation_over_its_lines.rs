//! An operation that touches more lines than it promises.
// fail: E0080
// phrase: Queue: touches throttle: 2 lines of 
// phrase: limit 1; the last is that of field throttled (offset 1024, size 4) of group cold
#![forbid(unsafe_code)]

#[repr(align(512))]
pub struct Avg(#[allow(dead_code)] [u8; 512]);

corelocal::cacheline_struct! {
    pub struct Queue {
        group hot { count: i32, #[cfg(pass)] throttled: i32 }
        avg: Avg,
        group cold { #[cfg(fail)] throttled: i32, rest: u8 }
    }
    touches throttle { mut count, throttled } in <= 1 lines;
}
