//! [`Count`]: the protocol, on lanes of an area.

use super::error::KillError;
use super::protocol::{self, LANES, SECTIONS, WHOLE};
use crate::error::AllocError;
use crate::percpu::{Area, PerCpu, PerCpuCell, PerCpuRef};
use crate::sync::AtomicUsize;
use crate::sys::rseq::can_fence;
use crate::sys::{Backend, backend};

/// A count of references, and who counts them. It says when the end has come, and does nothing then.
pub(crate) struct Count {
    mode: AtomicUsize,
    lanes: PerCpu<PerCpuCell<u64>>,
}

impl Count {
    /// A count of one.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    pub(crate) fn in_area(area: &Area) -> Result<Self, AllocError> {
        // Both are fixed for the process.
        let mode = match backend() {
            Backend::Rseq if can_fence() => SECTIONS,
            Backend::Rseq => WHOLE,
            _ => LANES,
        };
        let total = protocol::first_total(mode);
        // A loom atomic is not valid in zeroed memory.
        #[cfg(corelocal_loom)]
        let lanes =
            area.try_alloc(|lane| PerCpuCell::new(if lane.is_spill() { total } else { 0 }))?;
        // Lanes that nobody counts in cost no memory.
        #[cfg(not(corelocal_loom))]
        let lanes = {
            let lanes: PerCpu<PerCpuCell<u64>> = area.try_alloc_zeroed()?;
            // Relaxed: the count has not been shared yet.
            lanes.spill().atomic().store(total, crate::sync::Ordering::Relaxed);
            lanes
        };
        Ok(Self { mode: AtomicUsize::new(mode), lanes })
    }

    /// What the protocol takes: a handle, and the mode. Neither is a reference to anything but
    /// atomics, so they may stand while others put the last reference and free the count.
    #[inline(always)]
    pub(crate) fn parts(&self) -> (PerCpuRef<'_, PerCpuCell<u64>>, &AtomicUsize) {
        (self.lanes.as_ref(), &self.mode)
    }

    #[inline]
    pub(crate) fn get(&self) {
        let (lanes, mode) = self.parts();
        protocol::get(lanes, mode);
    }

    #[inline]
    pub(crate) fn try_get(&self) -> bool {
        let (lanes, mode) = self.parts();
        protocol::try_get(lanes, mode)
    }

    /// `true`: that was the end.
    #[inline]
    pub(crate) fn put(&self) -> bool {
        let (lanes, mode) = self.parts();
        protocol::put(lanes, mode)
    }

    /// Ends the counting in lanes; the caller puts its reference next.
    pub(crate) fn kill(&self) -> Result<(), KillError> {
        let (lanes, mode) = self.parts();
        protocol::kill(lanes, mode)
    }

    #[inline]
    pub(crate) fn is_live(&self) -> bool {
        protocol::is_live(&self.mode)
    }

    pub(crate) fn references(&self) -> u64 {
        protocol::references(self.lanes.as_ref())
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes.lanes()
    }
}

#[cfg(all(test, not(corelocal_loom)))]
mod tests {
    use super::super::word::{MOST, UNIT};
    use super::*;
    use crate::sync::Ordering;

    fn count() -> Count {
        Count::in_area(Area::global()).unwrap()
    }

    /// As if so many had been got where this process counts, and none put.
    fn forget(count: &Count, units: u64) {
        count.lanes.spill().atomic().fetch_add(units, Ordering::Relaxed);
    }

    /// G10: references that are forgotten in a loop end in a leak, not in a count that wraps.
    #[test]
    fn a_count_wraps_when_references_are_forgotten() {
        for beyond in [0, 1, 1000] {
            // Before the kill nobody knows; the fold notices.
            let early = count();
            forget(&early, MOST + beyond * UNIT);
            early.kill().unwrap();
            forget(&early, (MOST + beyond * UNIT).wrapping_neg());
            assert!(!early.put() && early.try_get());
            // And after it, whoever gets the one too many does.
            let late = count();
            late.kill().unwrap();
            forget(&late, MOST + beyond * UNIT - 2 * UNIT);
            (0..3).for_each(|_| late.get());
            forget(&late, (MOST + beyond * UNIT).wrapping_neg());
            for _ in 0..2 {
                assert!(!late.put(), "the end, of a count that was lost");
            }
            assert!(late.try_get());
        }
        // One less is counted.
        let most = count();
        most.kill().unwrap();
        forget(&most, MOST - 3 * UNIT);
        (0..2).for_each(|_| most.get());
        forget(&most, (MOST - 3 * UNIT).wrapping_neg());
        assert_eq!([most.put(), most.put(), most.put()], [false, false, true]);
    }

    /// Unbalanced lanes, and a total that has drifted below its bias.
    #[test]
    fn a_count_whose_lanes_have_drifted_ends_early() {
        for drift in [UNIT, 1 << 40, 1 << 50] {
            let count = count();
            forget(&count, drift.wrapping_neg());
            if count.mode.load(Ordering::Relaxed) == WHOLE {
                continue;
            }
            // Before anything counts there, in sections or otherwise.
            let cpu = count.lanes.iter_cpus().last().expect("a CPU").1;
            cpu.atomic().store(drift, Ordering::Relaxed);
            count.get();
            assert!(!count.put());
            assert_eq!(count.references(), 1);
            count.kill().unwrap();
            count.get();
            assert_eq!([count.put(), count.put()], [false, true], "{drift}");
        }
    }
}
