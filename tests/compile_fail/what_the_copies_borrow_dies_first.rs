//! The copies are dropped with the object, and may look at what they borrow then.
// fail: E0597
#![forbid(unsafe_code)]

use corelocal::PerCpu;

pub struct Report<'a>(&'a String);

impl Drop for Report<'_> {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

#[cfg(pass)]
pub fn report() {
    let name = String::new();
    let reports = PerCpu::new(|_| Report(&name));
    drop(reports);
}
#[cfg(fail)]
pub fn report() {
    let reports;
    let name = String::new();
    reports = PerCpu::new(|_| Report(&name));
}
