//! A group's name with a slip of the pen.
// fail: E0080
// phrase: Queue: group cold: there is no group hott
#![forbid(unsafe_code)]

#[cfg(pass)]
corelocal::cacheline_struct! {
    pub struct Queue { group hot { a: u8 } group cold(apart(hot), aligned) { b: u8 } }
}
#[cfg(fail)]
corelocal::cacheline_struct! {
    pub struct Queue { group hot { a: u8 } group cold(apart(hott), aligned) { b: u8 } }
}
