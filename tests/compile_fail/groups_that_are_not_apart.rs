//! Two groups that should share no line.
// fail: E0080
// phrase: Queue: group cold: member created (offset 8, size 8) shares a line with running (offset 0, size 4); limit: no common line of 
// phrase: bytes with group hot
#![forbid(unsafe_code)]

#[cfg(pass)]
corelocal::cacheline_struct! {
    pub struct Queue {
        group hot(aligned) { running: u32 }
        group cold(apart(hot)) { created: u64 }
    }
}
#[cfg(fail)]
corelocal::cacheline_struct! {
    #[repr(align(512))]
    pub struct Queue {
        group hot { running: u32 }
        group cold(apart(hot)) { created: u64 }
    }
}
