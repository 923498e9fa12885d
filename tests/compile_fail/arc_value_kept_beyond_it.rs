//! What an arc leads to is there as long as the arc is.
// fail: E0505
#![forbid(unsafe_code)]

use corelocal::PerCpuArc;

pub fn check(arc: PerCpuArc<String>) -> usize {
    let text: &str = &arc;
    #[cfg(pass)]
    {
        let length = text.len();
        drop(arc);
        length
    }
    #[cfg(fail)]
    {
        drop(arc);
        text.len()
    }
}
