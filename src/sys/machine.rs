//! The process-wide number of CPU lanes.

use super::{affinity, current, os, topology};
use crate::sync::Ordering;
use crate::sync::plain::AtomicU32;
use std::cell::Cell;

/// The largest number of CPU lanes: what the largest Linux can be built for.
///
/// A machine that names more ids is taken to have this many; threads on the ids
/// beyond work, on the spill lane.
///
/// ```
/// use corelocal::sys::{MAX_CPUS, Topology};
///
/// assert!(Topology::current().cpus() <= MAX_CPUS); // so a table that long has room for any machine
/// ```
pub const MAX_CPUS: u32 = 8192;

/// 0: not read yet. One word, so a forked child or a signal handler finds it
/// whole, and two threads that read at once agree on the first one's answer.
static CPUS: AtomicU32 = AtomicU32::new(0);

/// How many CPU lanes this process has: highest possible CPU id + 1, read once.
///
/// The largest of the highest possible id, the highest id this thread may run on
/// and its present id, each + 1; at least 1, at most [`MAX_CPUS`].
#[inline]
pub(crate) fn cpus() -> u32 {
    // Relaxed: the word is the whole message.
    match CPUS.load(Ordering::Relaxed) {
        0 => read_cpus(),
        known => known,
    }
}

/// Takes nothing from the heap where the system is as it usually is: the heap may itself be built
/// on this crate, and this be its first request. Where the usual file is missing, the heap is
/// asked; if that leads back here, the number is found from what there is without it.
#[cold]
#[inline(never)]
fn read_cpus() -> u32 {
    std::thread_local! {
        static ASKING_HEAP: Cell<bool> = const { Cell::new(false) };
    }
    let possible = topology::possible_bound().unwrap_or_else(|| {
        if ASKING_HEAP.replace(true) {
            return os::configured().unwrap_or(1);
        }
        let found = topology::possible_bound_elsewhere();
        ASKING_HEAP.set(false);
        found
    });
    let wanted = lanes_wanted(possible, affinity::allowed_bound(), current::machine_hint());
    let found = wanted.clamp(1, MAX_CPUS);
    // Relaxed: as in `cpus`.
    match CPUS.compare_exchange(0, found, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => found,
        Err(earlier) => earlier,
    }
}

/// The number of lanes that covers all three: two bounds and an id.
pub(super) fn lanes_wanted(possible: u32, allowed: u32, present: Option<u32>) -> u32 {
    possible.max(allowed).max(present.map_or(0, |id| id.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_the_three_decides() {
        assert_eq!(lanes_wanted(4, 2, Some(1)), 4);
        assert_eq!(lanes_wanted(2, 97, Some(3)), 97);
        assert_eq!(lanes_wanted(2, 2, Some(9)), 10);
    }

    #[test]
    fn the_short_way_and_the_long_way_find_the_same() {
        if let Some(short) = topology::possible_bound() {
            assert_eq!(short, topology::possible_bound_elsewhere());
        }
        let long = affinity::allowed_words().map_or(0, |words| affinity::bound(&words));
        assert_eq!(affinity::allowed_bound(), long);
    }

    #[test]
    fn the_machines_number_covers_the_thread_and_stays() {
        let first = cpus();
        assert!((1..=MAX_CPUS).contains(&first));
        if let Some(id) = current::machine_hint() {
            assert!(id < first);
        }
        assert_eq!(cpus(), first);
    }
}
