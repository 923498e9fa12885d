//! Where readers are counted: two cells a lane, and who updates them.

use super::gate::Count;
use crate::error::AllocError;
use crate::percpu::{Added, Area, PerCpu, PerCpuCell, PerCpuRef};
use crate::sync::AtomicUsize;
use crate::sys::rseq::{NoFence, can_fence, fence_all};
use crate::sys::{Backend, backend};

/// A lane's counts, which only grow, and wrap. 64 bits on every target: guards can be forgotten, and
/// with 32 a loop of a minute that does so makes the entries as many as the exits, with a reader inside.
type Lane = [PerCpuCell<u64>; 2];
const _: () = assert!(size_of::<Lane>() == 16);
const ENTRIES: usize = 0;
const EXITS: usize = 1;

/// How the lanes are updated, fixed when the lock is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// By sections, which a barrier of the kernel's ends.
    Sections,
    /// By atomics, as in all objects of this process.
    Atomics,
    /// By atomics in a process with sections, where the kernel has no such barrier.
    AtomicsAlone,
}

/// The lanes of a lock.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: PerCpu<Lane>,
    by: By,
}

impl Lanes {
    pub(super) fn try_new(area: &Area) -> Result<Self, AllocError> {
        // A loom atomic is not valid in zeroed memory.
        #[cfg(corelocal_loom)]
        let lanes = area.try_alloc(|_| Lane::default())?;
        #[cfg(not(corelocal_loom))]
        let lanes = area.try_alloc_zeroed()?;
        let by = match backend() {
            Backend::Rseq if can_fence() => By::Sections,
            Backend::Rseq => By::AtomicsAlone,
            Backend::Getcpu | Backend::Thread => By::Atomics,
        };
        Ok(Self { lanes, by })
    }

    pub(super) fn by(&self) -> By {
        self.by
    }

    pub(super) fn lanes(&self) -> usize {
        self.lanes.lanes()
    }

    /// The cells of entries, or of exits.
    #[inline(always)]
    fn cells<const WHICH: usize>(&self) -> PerCpuRef<'_, PerCpuCell<u64>, Lane> {
        match self.lanes.index(WHICH) {
            Some(cells) => cells,
            None => unreachable!("a lane has two cells"),
        }
    }
}

impl Count for Lanes {
    #[inline(always)]
    fn enter(&self, word: &AtomicUsize, expect: usize) -> Added {
        self.cells::<ENTRIES>().add_while::<false>(1, word, expect)
    }

    #[inline(always)]
    fn leave(&self, word: &AtomicUsize, expect: usize) -> Added {
        self.cells::<EXITS>().add_while::<true>(1, word, expect)
    }

    fn enter_shared(&self, word: &AtomicUsize, expect: usize) -> Added {
        self.cells::<ENTRIES>().add_shared_while(1, word, expect)
    }

    fn leave_shared(&self, word: &AtomicUsize, expect: usize) -> Added {
        self.cells::<EXITS>().add_shared_while(1, word, expect)
    }

    fn enter_always(&self, readers: u64) {
        match self.by {
            By::AtomicsAlone => self.cells::<ENTRIES>().add_shared(readers),
            By::Sections | By::Atomics => self.cells::<ENTRIES>().add(readers),
        }
    }

    fn leave_always(&self) {
        match self.by {
            By::AtomicsAlone => self.cells::<EXITS>().add_shared(1),
            By::Sections | By::Atomics => self.cells::<EXITS>().add_release(1),
        }
    }

    fn entries(&self) -> u64 {
        self.cells::<ENTRIES>().sum()
    }

    fn exits(&self) -> u64 {
        let exits = self.cells::<EXITS>();
        let sum = exits.sum();
        // The fence that follows [E81]: the thread sanitizer knows no fences.
        #[cfg(corelocal_tsan)]
        exits.iter().for_each(|(_, cell)| crate::sys::rseq::acquire(cell));
        sum
    }

    fn fence(&self) -> Result<(), NoFence> {
        match self.by {
            By::Sections => fence_all(),
            By::Atomics | By::AtomicsAlone => Ok(()),
        }
    }
}
