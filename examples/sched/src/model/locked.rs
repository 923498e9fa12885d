//! [`Locked`]: one CPU's run queue with its lock held, and the ways through the groups from there.

use super::{Model, RqOf, Tg};
use crate::layout::{Cfs, Held, Layout, Se};
use crate::structs::{CfsRqFields, SeFields};
use corelocal::CpuId;
use crossbeam_epoch::Guard;
use std::sync::MutexGuard;

/// In a queue's `throttled`: the group used up its quota on this CPU.
pub const THROTTLED: i32 = 1;
/// In a queue's `throttled`: its clock of load tracking stands. Linux 6.14 reads that from
/// `throttle_count`, 7.2 has a bit of its own; the model sets the bit for both.
pub const CLOCK_STANDS: i32 = 2;

/// What a throttle does to a group's tasks on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Throttle {
    /// It takes the group's entity out of its queue: Linux to 6.17.
    Removes,
    /// Tasks leave by themselves on their way to user space, the entity with the last of them.
    Defers,
}

/// Nanoseconds of a tick of the kernel's slow clock, at 1000 a second.
pub const JIFFY: u64 = 1_000_000;

/// The run queue of one CPU, locked: whoever has this may change the queues and entities of that
/// CPU, and nobody else does.
pub struct Locked<'m, L: Layout> {
    /// The model.
    pub model: &'m Model<L>,
    /// Keeps the groups.
    pub guard: &'m Guard,
    /// The CPU.
    pub cpu: CpuId,
    /// Its run queue.
    pub rq: &'m RqOf<L>,
    _held: MutexGuard<'m, ()>,
}

impl<'m, L: Layout> Locked<'m, L> {
    /// Takes the lock of `cpu`'s run queue. A thread that holds another CPU's must come from a
    /// lower one, or two threads could wait for each other.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    pub fn new(model: &'m Model<L>, guard: &'m Guard, cpu: CpuId) -> Self {
        let held = model.lock_rq(cpu);
        Self { model, guard, cpu, rq: model.rq(cpu), _held: held }
    }

    /// Lets `ns` nanoseconds pass on this CPU (`update_rq_clock`).
    pub fn advance(&self, ns: u64) {
        self.rq.clock.add(ns);
        self.rq.clock_pelt.add(ns);
    }

    /// Ticks of the slow clock.
    pub fn jiffies(&self) -> u64 {
        self.rq.clock.get() / JIFFY
    }

    /// The group at `index`.
    pub fn tg(&self, index: usize) -> Option<&'m Tg<L>> {
        self.model.groups().get(index, self.guard)
    }

    /// The queue of the group at `index` on this CPU.
    pub fn cfs(&self, index: usize) -> Option<&'m Cfs<L>> {
        self.tg(index).map(|tg| L::tg_cfs_rq(tg, self.cpu).plain())
    }

    /// The group of a queue of this CPU (`cfs_rq->tg`).
    ///
    /// # Panics
    ///
    /// If the group is no longer there: its queue was not reached under this guard.
    pub fn tg_of(&self, cfs: &Cfs<L>) -> &'m Tg<L> {
        self.tg(cfs.tg().get() as usize).expect("a queue's group is there")
    }

    /// The entity that stands for a queue of this CPU; none for the root's (`cfs_rq_se`).
    pub fn se_of(&self, cfs: &Cfs<L>) -> Option<&'m Se<L>> {
        L::tg_se(self.tg_of(cfs), self.cpu).map(Held::plain)
    }

    /// The clock of load tracking of a queue: it stands while the queue is throttled
    /// (`cfs_rq_clock_pelt`).
    pub fn clock_pelt(&self, cfs: &Cfs<L>) -> u64 {
        let now = if cfs.throttled().get() & CLOCK_STANDS != 0 {
            cfs.throttled_clock_pelt().get()
        } else {
            self.rq.clock_pelt.get()
        };
        now.wrapping_sub(cfs.throttled_clock_pelt_time().get())
    }

    /// Makes a queue's clock of load tracking stand, unless it does.
    pub fn stop_clock(&self, cfs: &Cfs<L>) {
        let throttled = cfs.throttled().get();
        if throttled & CLOCK_STANDS == 0 {
            cfs.throttled_clock_pelt().set(self.rq.clock_pelt.get());
            cfs.throttled().set(throttled | CLOCK_STANDS);
        }
    }

    /// Makes it go on, where it stood, if it does.
    pub fn start_clock(&self, cfs: &Cfs<L>) {
        let throttled = cfs.throttled().get();
        if throttled & CLOCK_STANDS != 0 {
            let stood = self.rq.clock_pelt.get().wrapping_sub(cfs.throttled_clock_pelt().get());
            cfs.throttled_clock_pelt_time().add(stood);
            cfs.throttled().set(throttled & !CLOCK_STANDS);
        }
    }

    /// An entity and those above it, up to the one that waits in the root's queue
    /// (`for_each_sched_entity`).
    pub fn chain<'s>(&self, se: &'s Se<L>) -> impl Iterator<Item = &'s Se<L>> + use<'s, L> {
        core::iter::successors(Some(se), |se| se.parent().get())
    }
}

impl<L: Layout> core::fmt::Debug for Locked<'_, L> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Locked").field("cpu", &self.cpu).finish_non_exhaustive()
    }
}
