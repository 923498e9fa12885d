//! [`Task`]: what waits in a group's queue; [`Entity`]: a task or the state of a group.

#![allow(unsafe_code, reason = "a task's links to its queue and its group's entity")]

use super::Model;
use crate::layout::{Held, Layout, Se};
use crate::structs::{SchedStatistics, SeFields, SeStats};
use crate::word::U32;
use bytemuck::allocation::zeroed_box;
use core::fmt;
use corelocal::CpuId;
use crossbeam_epoch as epoch;

/// The weight of an ordinary task, scaled as the weights of queues and entities are.
pub const NICE_0_LOAD: u64 = 1 << 20;

/// Why a task was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinError {
    /// There is no such group, or it is being released.
    NotThere,
    /// The weight is below 2 in units of [`crate::tree::Limits`]: load would vanish.
    Weight(u64),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotThere => f.write_str("there is no such group"),
            Self::Weight(weight) => write!(f, "weight {weight} is not between 2 and 2^30"),
        }
    }
}

impl std::error::Error for JoinError {}

/// A task of one group, placed on one CPU; it starts asleep, unknown to load tracking.
///
/// Its words belong to the holder of its CPU's run queue lock. The group stays as long as it has
/// tasks ([`ReleaseError::HasTasks`](super::ReleaseError::HasTasks)).
pub struct Task<'m, L: Layout> {
    model: &'m Model<L>,
    state: Box<SeStats<L::K>>,
    group: usize,
    cpu: U32,
    idle: bool,
}

impl<'m, L: Layout> Task<'m, L> {
    /// A task in the group at index `group`, on `cpu`, of `weight` (1024 is an ordinary task).
    ///
    /// # Errors
    ///
    /// [`JoinError`].
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    pub fn new(
        model: &'m Model<L>,
        group: usize,
        cpu: CpuId,
        weight: u64,
    ) -> Result<Self, JoinError> {
        if !(2..=1 << 30).contains(&weight) {
            return Err(JoinError::Weight(weight));
        }
        model.join(group)?;
        let task = Self { model, state: zeroed_box(), group, cpu: U32::default(), idle: false };
        task.se().load().weight.set(weight << 10);
        task.place(cpu);
        Ok(task)
    }

    /// The same task under the idle policy (`SCHED_IDLE`): it counts as idle in its queues.
    #[must_use]
    pub fn idle(mut self) -> Self {
        self.idle = true;
        self
    }

    /// Links the task to its group's state on `cpu` (`set_task_rq`). It must be in no queue.
    ///
    /// # Panics
    ///
    /// If it is queued, or the model has no such CPU.
    pub fn place(&self, cpu: CpuId) {
        assert_eq!(self.se().on_rq().get(), 0, "a queued task does not move");
        let guard = &epoch::pin();
        let tg = self.model.groups().get(self.group, guard).expect("a group with tasks stays");
        // SAFETY:
        // * the group is not released before the task has left it, in `Drop`; objects do not move.
        unsafe { self.se().cfs_rq().set(Some(L::tg_cfs_rq(tg, cpu).plain())) };
        // SAFETY:
        // * as above.
        unsafe { self.se().parent().set(L::tg_se(tg, cpu).map(Held::plain)) };
        let depth = self.se().parent().get().map_or(0, |parent| parent.depth().get() + 1);
        self.se().depth().set(depth);
        self.cpu.set(cpu.index() as u32);
    }

    /// Its entity.
    pub fn se(&self) -> &Se<L> {
        &self.state.se
    }

    /// The entity, from which its statistics are found.
    pub fn entity(&self) -> Entity<'_, L> {
        Entity::Task(&self.state)
    }

    /// The index of its group.
    pub fn group(&self) -> usize {
        self.group
    }

    /// The CPU that it is placed on.
    pub fn cpu(&self) -> CpuId {
        CpuId::new(self.cpu.get())
    }

    /// Whether it is of the idle policy.
    pub fn is_idle(&self) -> bool {
        self.idle
    }
}

impl<L: Layout> Drop for Task<'_, L> {
    /// # Panics
    ///
    /// If the task is queued: its load would stay for ever.
    fn drop(&mut self) {
        self.model.leave(self.group);
        if !std::thread::panicking() {
            assert_eq!(self.se().on_rq().get(), 0, "a task was dropped in a queue");
        }
    }
}

impl<L: Layout> fmt::Debug for Task<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("group", &self.group).field("cpu", &self.cpu()).finish()
    }
}

/// What a queue orders: a task, or the part of a group that is on this CPU. A reference to either
/// still leads to what lies around it.
pub enum Entity<'g, L: Layout> {
    /// A task's.
    Task(&'g SeStats<L::K>),
    /// A group's.
    Group(L::Ent<'g>),
}

impl<'g, L: Layout> Entity<'g, L> {
    /// The entity alone.
    pub fn plain(self) -> &'g Se<L> {
        match self {
            Self::Task(state) => &state.se,
            Self::Group(ent) => ent.plain(),
        }
    }

    /// Its statistics (`__schedstats_from_se`): beside the task's entity, or in the group's
    /// co-located state.
    pub fn stats(self) -> &'g SchedStatistics {
        match self {
            Self::Task(state) => &state.stats,
            Self::Group(ent) => L::stats_of(ent),
        }
    }
}

impl<L: Layout> Clone for Entity<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Layout> Copy for Entity<'_, L> {}

impl<L: Layout> fmt::Debug for Entity<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if entity_is_task::<L>(self.plain()) {
            "Entity::Task"
        } else {
            "Entity::Group"
        })
    }
}

/// Whether an entity is a task: it owns no queue (`entity_is_task`).
pub fn entity_is_task<L: Layout>(se: &Se<L>) -> bool {
    se.my_q().is(None)
}

/// Whether a group is the root, told by its address as the kernel does (`is_root_task_group`).
pub fn is_root<L: Layout>(model: &Model<L>, tg: &super::Tg<L>) -> bool {
    core::ptr::eq(tg, model.root())
}
