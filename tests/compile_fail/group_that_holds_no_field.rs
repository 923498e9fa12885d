//! A member's name with a slip of the pen.
// fail: E0080
// phrase: Queue: group hot: there is no field wait
#![forbid(unsafe_code)]

#[cfg(pass)]
corelocal::cacheline_struct! {
    pub struct Queue { group hot(holds(weight)) { weight: u64 } }
}
#[cfg(fail)]
corelocal::cacheline_struct! {
    pub struct Queue { group hot(holds(wait)) { weight: u64 } }
}
