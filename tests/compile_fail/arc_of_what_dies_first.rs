//! An arc may drop its value at its end: what the value borrows has to live longer.
// fail: E0597
#![forbid(unsafe_code)]

use corelocal::{PerCpuArc, PerCpuArcOwner};

pub struct Reads<'a>(pub &'a String);

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        assert!(!self.0.is_empty());
    }
}

pub fn check() {
    #[cfg(pass)]
    let text = String::from("longer");
    let arc: PerCpuArc<Reads<'_>>;
    #[cfg(fail)]
    let text = String::from("shorter");
    let owner = PerCpuArcOwner::new(Reads(&text));
    arc = owner.share();
    drop(owner);
    let _ = &arc;
}
