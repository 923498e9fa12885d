//! Systems that do not say where a thread runs: every question has the answer "not known".
#![allow(unsafe_code, reason = "keeps the signatures of the Linux file")]

/// An area that never exists here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ThreadArea {
    pub(super) offset: isize,
    pub(super) size: u32,
}

pub(super) fn thread_area() -> Option<ThreadArea> {
    None
}

/// # Safety
///
/// None; never called, since there is no area.
#[inline]
pub(super) unsafe fn id_word(_offset: isize) -> i32 {
    -1
}

pub(super) fn getcpu() -> Option<u32> {
    None
}

pub(super) fn affinity(_words: &mut [usize]) -> Result<(), i32> {
    Err(0)
}

pub(super) fn pin(_cpu: u32) -> bool {
    false
}

pub(super) const TOO_SHORT: i32 = 22;

pub(super) fn configured() -> Option<u32> {
    let count = std::thread::available_parallelism().ok()?;
    u32::try_from(count.get()).ok()
}
