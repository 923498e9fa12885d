//! The words that a count is made of, wherever they lie.

use super::protocol::SECTIONS;
use super::word::{CLOSED, UNIT};
use crate::percpu::{PerCpuCell, PerCpuRef};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::sys::rseq::{NoFence, Outcome, fence_all};

/// A word a lane, the total, and what a take-over needs. A handle: whoever puts the last reference
/// gives the words up, so nothing here may be looked at after a put but by the last.
pub(crate) trait Lanes: Copy {
    /// Adds a unit on this CPU's lane: in a section while `mode` says [`SECTIONS`], otherwise by an
    /// atomic. Returns what was there, or [`CLOSED`] if nothing was added: see [`counted`].
    fn get(self, mode: &AtomicUsize) -> u64;

    /// The same with a unit less, and what the thread did before is released.
    fn put(self, mode: &AtomicUsize) -> u64;

    /// The total.
    fn total(&self) -> &AtomicU64;

    /// Waits until no section is running that began before.
    ///
    /// # Errors
    ///
    /// [`NoFence`]: the system refused.
    fn fence(self) -> Result<(), NoFence>;

    /// The sum over all lanes but the total.
    fn sum(self) -> u64;

    /// Closes all lanes but the total. Returns their sum, and takes over what those who put did before.
    /// Only where there are no sections.
    fn close(self) -> u64;
}

/// What an addition found, in one word: a section that saw another mode found its lane closed.
#[inline(always)]
pub(super) fn counted(outcome: Outcome<u64>) -> u64 {
    match outcome {
        Outcome::Committed { value, .. } => value,
        _ => CLOSED,
    }
}

impl<O> Lanes for PerCpuRef<'_, PerCpuCell<u64>, O> {
    #[inline(always)]
    fn get(self, mode: &AtomicUsize) -> u64 {
        counted(self.add_in_section_while::<false>(UNIT, mode, SECTIONS))
    }

    #[inline(always)]
    fn put(self, mode: &AtomicUsize) -> u64 {
        // Released: [E70] in a lane without sections, [E71] where the lane is the total.
        counted(self.add_in_section_while::<true>(UNIT.wrapping_neg(), mode, SECTIONS))
    }

    #[inline]
    fn total(&self) -> &AtomicU64 {
        self.spill().atomic()
    }

    fn fence(self) -> Result<(), NoFence> {
        fence_all()
    }

    fn sum(self) -> u64 {
        // Relaxed, in `load`: after a kill [E24] orders it; else it is a number near the truth.
        self.iter_cpus().fold(0, |sum, (_, cell)| sum.wrapping_add(cell.load()))
    }

    fn close(self) -> u64 {
        // Acquire [E70]: pairs with the Release of a put in the lane: the uses of whoever put there.
        let close = |cell: &PerCpuCell<u64>| cell.atomic().swap(CLOSED, Ordering::Acquire);
        self.iter_cpus().fold(0, |sum, (_, cell)| sum.wrapping_add(close(cell)))
    }
}
