//! The model: the groups of one tree, their per-CPU state in one layout, and the run queues.
//!
//! A model is built in one of two states. [`Model::build`] fills every queue with values that
//! differ by group and CPU: the walks that are timed have something to read. [`Model::build_idle`]
//! begins as a kernel does, without load; only such a model *accounts*, that is, [`check`] also
//! asks whether its counts and loads add up.

mod check;
mod create;
mod groups;
mod init;
pub mod leaf;
mod locked;
mod online;
mod release;
mod task;

pub use check::check;
pub use create::{CreateError, NewGroup};
pub use groups::Groups;
pub use locked::{CLOCK_STANDS, JIFFY, Locked, THROTTLED, Throttle};
pub use release::ReleaseError;
pub use task::{Entity, JoinError, NICE_0_LOAD, Task, entity_is_task, is_root};

use crate::layout::{Layout, Order, Plan, Rqs};
use crate::structs::{Kernel, Rq, TaskGroup};
use crate::tree::Tree;
use crate::word::U8;
use core::fmt;
use corelocal::{AllocError, Area, CpuId};
use crossbeam_epoch::Guard;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A task group of a layout.
pub type Tg<L> = TaskGroup<<L as Layout>::Refs>;
/// The run queue of one CPU, in the structures of a layout's kernel.
pub type RqOf<L> = Rq<crate::layout::Cfs<L>>;

/// A tree of groups in the layout `L`.
pub struct Model<L: Layout> {
    // The groups refer to the run queues, so they are dropped first.
    groups: Groups<L>,
    rqs: Rqs<L::K>,
    locks: Box<[Mutex<()>]>,
    /// Guards the links of the tree; holds the free slots of the table.
    tree_lock: Mutex<Vec<usize>>,
    settings_lock: Mutex<()>,
    online: Box<[U8]>,
    cpus: u32,
    accounts: bool,
    throttle: Throttle,
    /// Which policy weighs a group's entities; the room `load` gives the number a meaning. 0 is
    /// the kernel's own.
    pub cgroup_mode: U8,
}

impl<L: Layout> Model<L> {
    /// Builds `tree` for `cpus` CPUs with per-CPU memory from `area`, every queue filled with
    /// values to read.
    ///
    /// # Errors
    ///
    /// [`AllocError`], when per-CPU memory is refused.
    ///
    /// # Panics
    ///
    /// If `area` has fewer than `cpus` CPUs.
    pub fn build(tree: &Tree, cpus: u32, order: Order, area: &Area) -> Result<Self, AllocError> {
        let model = Self::allocate(tree, cpus, order, area, 0)?;
        init::init(&model, tree);
        debug_assert_eq!(check(&model), Ok(()));
        Ok(model)
    }

    /// Builds `tree` as [`build`](Model::build), but without any load, and with room in the table
    /// for `room` groups that are created later.
    ///
    /// # Errors
    ///
    /// As [`build`](Model::build).
    ///
    /// # Panics
    ///
    /// As [`build`](Model::build).
    pub fn build_idle(
        tree: &Tree,
        cpus: u32,
        order: Order,
        area: &Area,
        room: usize,
    ) -> Result<Self, AllocError> {
        let mut model = Self::allocate(tree, cpus, order, area, room)?;
        model.accounts = true;
        init::init_idle(&model, tree);
        debug_assert_eq!(check(&model), Ok(()));
        Ok(model)
    }

    /// A model whose memory is zeroed.
    #[allow(unsafe_code, reason = "the groups refer to the run queues beside them")]
    fn allocate(
        tree: &Tree,
        cpus: u32,
        order: Order,
        area: &Area,
        room: usize,
    ) -> Result<Self, AllocError> {
        assert!(area.lanes() > cpus as usize, "the area has a lane for every CPU");
        let rqs: Rqs<L::K> = area.try_alloc_zeroed()?;
        let plan = Plan { groups: tree.groups.len(), cpus, order, area };
        // SAFETY:
        // * `rqs` moves into the model, which drops the groups before it; its memory stays put.
        let refs = unsafe { L::allocate(&plan, &rqs) }?;
        // Task groups have a slab of their own in the kernel: they are allocated one after the
        // other here, in every layout and order.
        let groups = Groups::new(refs.into_iter().map(TaskGroup::new), room);
        let locks = (0..cpus).map(|_| Mutex::new(())).collect();
        let online = (0..cpus).map(|_| U8::default()).collect();
        // Backwards: the first slot is given out first.
        let free = (plan.groups + 1..groups.len()).rev().collect();
        let tree_lock = Mutex::new(free);
        let model = Self {
            groups,
            rqs,
            locks,
            tree_lock,
            settings_lock: Mutex::new(()),
            online,
            cpus,
            accounts: false,
            throttle: if L::K::NAME.starts_with('7') {
                Throttle::Defers
            } else {
                Throttle::Removes
            },
            cgroup_mode: U8::default(),
        };
        model.online.iter().for_each(|online| online.set(1));
        Ok(model)
    }

    /// The table of groups.
    #[inline(always)]
    pub fn groups(&self) -> &Groups<L> {
        &self.groups
    }

    /// The root group.
    pub fn root(&self) -> &Tg<L> {
        self.groups.root()
    }

    /// Whether counts and loads add up here ([`Model::build_idle`]).
    pub fn accounts(&self) -> bool {
        self.accounts
    }

    /// The same model with throttles of this kind; a kernel's own kind without it.
    #[must_use]
    pub fn with_throttle(self, throttle: Throttle) -> Self {
        Self { throttle, ..self }
    }

    /// What a throttle does here.
    pub fn throttle(&self) -> Throttle {
        self.throttle
    }

    /// CPUs with state: those that are possible.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> + use<L> {
        (0..self.cpus).map(CpuId::new)
    }

    /// The run queue of `cpu`.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    #[inline(always)]
    pub fn rq(&self, cpu: CpuId) -> &RqOf<L> {
        self.rqs.get(cpu).expect("a CPU of the model")
    }

    /// Takes the lock of a CPU's run queue: its leaf list and throttle counts are the holder's.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    pub fn lock_rq(&self, cpu: CpuId) -> MutexGuard<'_, ()> {
        self.locks[cpu.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock under which groups' settings change, one at a time. Before any run queue's.
    pub fn lock_settings(&self) -> MutexGuard<'_, ()> {
        self.settings_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Depth first over `from` and all below it: `down` when a group is first met, `up` when it
    /// is left for the last time. Touches the links of the tree, and what the callbacks touch.
    #[inline(always)]
    pub fn walk_tg_tree_from<'g>(
        &'g self,
        guard: &'g Guard,
        from: u32,
        mut down: impl FnMut(&'g Tg<L>),
        mut up: impl FnMut(&'g Tg<L>),
    ) {
        let Some(mut tg) = self.groups.get(from as usize, guard) else { return };
        let mut at = from;
        loop {
            down(tg);
            // Acquire: pairs with the Release of `NewGroup::publish`.
            let first = L::touched(&tg.links.child).get_acquire();
            if let Some(child) = self.groups.get(first as usize, guard) {
                (at, tg) = (first, child);
                continue;
            }
            loop {
                up(tg);
                if at == from {
                    return;
                }
                let links = L::touched(&tg.links);
                let (sibling, parent) = (links.sibling.get(), links.parent.get());
                if let Some(next) = self.groups.get(sibling as usize, guard) {
                    (at, tg) = (sibling, next);
                    break;
                }
                let Some(above) = self.groups.get(parent as usize, guard) else { return };
                (at, tg) = (parent, above);
            }
        }
    }
}

impl<L: Layout> fmt::Debug for Model<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("layout", &L::NAME)
            .field("groups", &self.groups.len())
            .field("cpus", &self.cpus)
            .finish_non_exhaustive()
    }
}
