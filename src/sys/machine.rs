//! The process-wide number of CPU lanes.

use super::{affinity, current, os};
use crate::cpu::parse_runs;
use crate::sync::Ordering;
use crate::sync::plain::AtomicU32;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest number of CPU lanes: what the largest Linux can be built for.
///
/// A machine that names more ids is taken to have this many; threads on the ids
/// beyond work, on the spill lane.
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

#[cold]
#[inline(never)]
fn read_cpus() -> u32 {
    let possible = highest_in_file(Path::new("/sys/devices/system/cpu/possible"));
    let allowed = affinity::allowed_words().map_or(0, |words| affinity::bound(&words));
    let found = lanes_for(possible.or_else(os::configured), allowed, current::machine_hint());
    // Relaxed: as in `cpus`.
    match CPUS.compare_exchange(0, found, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => found,
        Err(earlier) => earlier,
    }
}

/// The number of lanes that covers all three; at least 1, at most [`MAX_CPUS`].
fn lanes_for(possible: Option<u32>, allowed: u32, present: Option<u32>) -> u32 {
    let present = present.map_or(0, |id| id.saturating_add(1));
    possible.unwrap_or(0).max(allowed).max(present).clamp(1, MAX_CPUS)
}

/// Highest id + 1 in a list file; `None` if it is absent, empty or malformed.
fn highest_in_file(path: &Path) -> Option<u32> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(1 << 20).read_to_end(&mut text).ok()?;
    let mut bound = None;
    parse_runs(&text, |_, last| bound = bound.max(Some(last + 1))).ok()?;
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_the_three_decides() {
        assert_eq!(lanes_for(Some(4), 2, Some(1)), 4);
        assert_eq!(lanes_for(Some(2), 97, Some(96)), 97);
        assert_eq!(lanes_for(Some(2), 2, Some(9)), 10);
    }

    #[test]
    fn there_is_always_a_lane_and_never_an_absurd_number() {
        assert_eq!(lanes_for(None, 0, None), 1);
        assert_eq!(lanes_for(Some(65_536), 0, None), MAX_CPUS);
        assert_eq!(lanes_for(None, 0, Some(u32::MAX)), MAX_CPUS);
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
