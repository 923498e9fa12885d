//! Which CPU this thread is on, as cheaply as the machine can say it.
//!
//! The answer is a hint: it may be stale when it is used. Three sources, the best
//! available chosen at the first question and remembered in one word:
//!
//! 1. the id word that the kernel keeps in libc's restartable-sequences area:
//!    one load from a constant distance to the thread pointer;
//! 2. the vDSO, through libc;
//! 3. none.
//!
//! RDTSCP and RDPID are never used: not every x86-64 machine has them.
#![allow(unsafe_code, reason = "reads the thread area")]

use super::rseq::register;
use super::{os, seam, thread_area};
use crate::cpu::CpuId;
use crate::sync::Ordering;
use crate::sync::plain::AtomicIsize;

/// Even: the area's offset from the thread pointer. Odd: one of the three below.
///
/// One word, so that the hot path needs one load and one test; every value is
/// complete in itself, so no ordering is needed and a forked child or a signal
/// handler finds nothing half done.
static SOURCE: AtomicIsize = AtomicIsize::new(UNASKED);
const UNASKED: isize = 1;
const GETCPU: isize = 3;
const NONE: isize = 5;

/// How this process learns a thread's CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The id word of libc's area, or the crate's own.
    Area,
    /// The vDSO.
    Getcpu,
    /// Nothing does.
    None,
}

/// This thread's CPU a moment ago, or `None` where it is not known.
///
/// Any value can come back, also one that no lane exists for: compare it with the
/// number of lanes before use.
#[inline]
pub(crate) fn cpu_hint() -> Option<u32> {
    if let Some(answer) = seam::cpu_id() {
        return answer;
    }
    machine_hint()
}

/// [`cpu_hint`] without the tests' seam.
#[inline]
pub(super) fn machine_hint() -> Option<u32> {
    // Relaxed: the word is the whole message.
    let source = SOURCE.load(Ordering::Relaxed);
    if source & 1 == 0 {
        // SAFETY:
        // - an even word is an offset that `thread_area` gave.
        let word = unsafe { os::id_word(source) };
        // The feature `register`: this may be the thread's first question.
        return id_of(word).or_else(|| if register::join() { machine_hint() } else { None });
    }
    ask_slowly(source)
}

/// Negative: the thread is not registered (-1) or its registration failed (-2).
/// Looked at on each read, since one process can have threads of both kinds.
#[inline]
fn id_of(word: i32) -> Option<u32> {
    u32::try_from(word).ok()
}

#[cold]
#[inline(never)]
fn ask_slowly(source: isize) -> Option<u32> {
    match source {
        NONE => None,
        GETCPU => ask_system(&SOURCE, os::getcpu),
        _ => {
            choose();
            machine_hint()
        }
    }
}

/// A refusal is for good: it is remembered, and the system is not asked again.
fn ask_system(source: &AtomicIsize, getcpu: impl FnOnce() -> Option<u32>) -> Option<u32> {
    let id = getcpu();
    if id.is_none() {
        // Relaxed: as in `machine_hint`.
        source.store(NONE, Ordering::Relaxed);
    }
    id
}

/// Finds the best source and publishes it. Idempotent: threads that race find the
/// same answer, and whoever publishes first is right.
#[cold]
fn choose() {
    let area = thread_area().map(|area| {
        // SAFETY:
        // - the offset came from `thread_area`.
        let word = unsafe { os::id_word(area.offset) };
        (area, word)
    });
    let best = best_source(area, os::getcpu);
    // Relaxed: as in `machine_hint`; a loser of the race has nothing to undo.
    let _ = SOURCE.compare_exchange(UNASKED, best, Ordering::Relaxed, Ordering::Relaxed);
}

/// The word for the best source: an area that is registered, with this thread's
/// id word, else the system's answer, else none.
fn best_source(area: Option<(os::ThreadArea, i32)>, getcpu: impl FnOnce() -> Option<u32>) -> isize {
    const REGISTRATION_FAILED: i32 = -2;
    match area {
        // Any other negative word is about this thread, not about the process.
        Some((area, word)) if word != REGISTRATION_FAILED => area.offset,
        _ if getcpu().is_some() => GETCPU,
        _ => NONE,
    }
}

/// The source in force; chosen now if this is the first question.
pub(super) fn source() -> Source {
    // Relaxed: as in `machine_hint`.
    if SOURCE.load(Ordering::Relaxed) == UNASKED {
        choose();
    }
    // Relaxed: as above.
    match SOURCE.load(Ordering::Relaxed) {
        GETCPU => Source::Getcpu,
        NONE => Source::None,
        _ => Source::Area,
    }
}

/// Asks the source that a backend of a test's choice goes with. A source only gives hints, so it
/// may change at any time.
#[cfg(feature = "testing")]
pub(super) fn force(backend: super::Backend) {
    let source = match backend {
        super::Backend::Rseq => return,
        super::Backend::Getcpu => GETCPU,
        super::Backend::Thread => NONE,
    };
    // Relaxed: as in `machine_hint`.
    SOURCE.store(source, Ordering::Relaxed);
}

/// A number that differs between live threads, nearly always, and stays for a
/// thread's life. Serves to spread threads whose CPU is not known.
///
/// It is the address of a constant thread-local: nothing is registered,
/// allocated or locked, and all bits of the result are mixed.
#[inline]
pub(crate) fn thread_hash() -> usize {
    std::thread_local! {
        static ANCHOR: u8 = const { 0 };
    }
    let address = ANCHOR.with(|anchor| core::ptr::from_ref(anchor).addr());
    mix(address as u64)
}

/// Stacks and thread blocks lie at equal distances: spread the few bits that differ.
#[inline]
fn mix(address: u64) -> usize {
    let once = (address ^ (address >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let twice = (once ^ (once >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (twice ^ (twice >> 32)) as usize
}

impl CpuId {
    /// The CPU that this thread was on a moment ago; `None` where the system does
    /// not say, or not for this thread.
    ///
    /// A hint: the thread may have been moved before the value is used. One load
    /// with glibc 2.35 or newer, else a call into the vDSO. Never fails hard,
    /// never allocates after the first call.
    ///
    /// ```
    /// use corelocal::cpu::CpuId;
    /// match CpuId::current() {
    ///     Some(cpu) => println!("just now on CPU {cpu}"),
    ///     None => println!("the system does not say"),
    /// }
    /// ```
    #[inline]
    pub fn current() -> Option<Self> {
        cpu_hint().map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// D10, <https://github.com/compudj/librseq/issues/17>.
    #[test]
    fn a_thread_that_is_not_registered_has_no_id() {
        assert_eq!(id_of(-1), None);
        assert_eq!(id_of(-2), None);
        assert_eq!(id_of(i32::MIN), None);
        assert_eq!(id_of(0), Some(0));
        assert_eq!(id_of(i32::MAX), Some(i32::MAX as u32));
    }

    fn area(word: i32) -> Option<(os::ThreadArea, i32)> {
        Some((os::ThreadArea { offset: -160, size: 20 }, word))
    }

    #[test]
    fn the_best_source_that_there_is_gets_chosen() {
        let not_asked = || panic!("the area is enough");
        assert_eq!(best_source(area(3), not_asked), -160);
        assert_eq!(best_source(area(-1), not_asked), -160, "this thread only");
        assert_eq!(best_source(area(-2), || Some(0)), GETCPU);
        assert_eq!(best_source(None, || Some(0)), GETCPU);
        assert_eq!(best_source(None, || None), NONE);
    }

    /// D8, <https://github.com/systemd/systemd/issues/12127>.
    #[test]
    fn a_system_that_refuses_is_not_asked_again() {
        let source = AtomicIsize::new(GETCPU);
        assert_eq!(ask_system(&source, || Some(1)), Some(1));
        assert_eq!(source.load(Ordering::Relaxed), GETCPU);
        assert_eq!(ask_system(&source, || None), None);
        assert_eq!(source.load(Ordering::Relaxed), NONE);
        assert_eq!(ask_slowly(NONE), None);
    }

    #[test]
    fn offsets_of_areas_are_never_taken_for_a_marker() {
        for marker in [UNASKED, GETCPU, NONE] {
            assert_eq!(marker & 1, 1);
        }
    }

    /// A12, <https://github.com/dotnet/runtime/issues/31995>.
    #[test]
    fn eight_live_threads_do_not_share_one_place() {
        let barrier = std::sync::Barrier::new(8);
        let hashes: BTreeSet<usize> = std::thread::scope(|scope| {
            let spawn = |_| {
                scope.spawn(|| {
                    let first = thread_hash();
                    barrier.wait();
                    assert_eq!(first, thread_hash(), "moved within a thread's life");
                    first
                })
            };
            let threads: Vec<_> = (0..8).map(spawn).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(hashes.len(), 8);
        let places: BTreeSet<usize> = hashes.iter().map(|hash| hash % 64).collect();
        assert!(places.len() > 2, "all on {places:?}");
    }

    #[test]
    fn threads_at_equal_distances_are_spread_over_few_and_over_many_places() {
        for step in [1_u64 << 12, 1 << 13, 1 << 16, 1 << 21, (1 << 23) + 4096, 8 << 23] {
            for places in [2_u64, 3, 5, 64, 96, 256] {
                let hit: BTreeSet<u64> = (0..places * 8)
                    .map(|thread| mix(0x7f12_3456_7640 + thread * step) as u64 % places)
                    .collect();
                let share = hit.len() as u64 * 10 / places;
                assert!(share >= 9, "step {step:#x}: {} of {places} places", hit.len());
            }
        }
    }
}
