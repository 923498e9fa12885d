//! A touched field's name with a slip of the pen; one under a `cfg` is no such slip.
// fail: E0080
// phrase: Queue: touches wake: there is no field runing
#![forbid(unsafe_code)]

#[cfg(pass)]
corelocal::cacheline_struct! {
    pub struct Queue { running: u32, #[cfg(any())] absent: u32 }
    touches wake { running, absent };
}
#[cfg(fail)]
corelocal::cacheline_struct! {
    pub struct Queue { running: u32, #[cfg(any())] absent: u32 }
    touches wake { runing, absent };
}
