//! Without the feature `register` an area is libc's or there is none.

use super::super::os;
use super::Refusal;

pub(in super::super) fn area() -> Option<os::ThreadArea> {
    None
}

pub(in super::super) fn refusal() -> Option<Refusal> {
    None
}

#[inline(always)]
pub(in super::super) fn can_join() -> bool {
    false
}

#[inline(always)]
pub(in super::super) fn join() -> bool {
    false
}
