//! A field that someone added to their struct does not go unseen.
// fail: E0027 none
#![forbid(unsafe_code)]

pub struct Queue {
    pub running: u32,
    pub weight: u64,
}

#[cfg(pass)]
corelocal::layout_map! { pub const QUEUE: Queue { running, .. } }
#[cfg(fail)]
corelocal::layout_map! { pub const QUEUE: Queue { running } }
