//! Where the kernel gives a thread no area, and nobody can pin one: for all files but that of Linux.
#![allow(unsafe_code, reason = "keeps the signatures of the Linux file")]

/// An area that never exists here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sys) struct ThreadArea {
    pub(in crate::sys) offset: isize,
    pub(in crate::sys) size: u32,
}

pub(in crate::sys) fn thread_area() -> Option<ThreadArea> {
    None
}

/// # Safety
///
/// None; never called, since there is no area.
#[inline]
pub(in crate::sys) unsafe fn id_word(_offset: isize) -> i32 {
    -1
}

pub(in crate::sys) fn pin(_cpu: u32) -> bool {
    false
}
