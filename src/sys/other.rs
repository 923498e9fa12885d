//! Systems that do not say where a thread runs: every question has the answer "not known".

mod no_area;

pub(super) use no_area::{ThreadArea, id_word, pin, thread_area};

pub(super) fn getcpu() -> Option<u32> {
    None
}

pub(super) fn affinity(_words: &mut [usize]) -> Result<(), i32> {
    Err(0)
}

pub(super) const TOO_SHORT: i32 = 22;

pub(super) fn configured() -> Option<u32> {
    let count = std::thread::available_parallelism().ok()?;
    u32::try_from(count.get()).ok()
}
