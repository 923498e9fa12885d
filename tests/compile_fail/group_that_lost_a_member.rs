//! Membership, as the kernel checks it: a field that was moved out of its group.
// fail: E0080
// phrase: Queue: group hot: member weight (offset 8, size 8) is no member; limit: holds(weight)
#![forbid(unsafe_code)]

#[cfg(pass)]
corelocal::cacheline_struct! {
    pub struct Queue { group hot(holds(running, weight)) { running: u32, weight: u64 } }
}
#[cfg(fail)]
corelocal::cacheline_struct! {
    pub struct Queue { group hot(holds(running, weight)) { running: u32 } weight: u64 }
}
