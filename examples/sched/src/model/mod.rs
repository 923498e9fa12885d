//! The model: the groups of one tree, their per-CPU state in one layout, and the run queues.

mod check;
mod groups;
mod init;
pub mod leaf;
mod release;

pub use check::check;
pub use groups::Groups;
pub use release::ReleaseError;

use crate::layout::{Layout, Order, Plan, Rqs};
use crate::structs::{Rq, TaskGroup};
use crate::tree::Tree;
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
    tree_lock: Mutex<()>,
    cpus: u32,
}

impl<L: Layout> Model<L> {
    /// Builds `tree` for `cpus` CPUs with per-CPU memory from `area`.
    ///
    /// # Errors
    ///
    /// [`AllocError`], when per-CPU memory is refused.
    ///
    /// # Panics
    ///
    /// If `area` has fewer than `cpus` CPUs.
    #[allow(unsafe_code, reason = "the groups refer to the run queues beside them")]
    pub fn build(tree: &Tree, cpus: u32, order: Order, area: &Area) -> Result<Self, AllocError> {
        assert!(area.lanes() > cpus as usize, "the area has a lane for every CPU");
        let rqs: Rqs<L::K> = area.try_alloc_zeroed()?;
        let plan = Plan { groups: tree.groups.len(), cpus, order, area };
        // SAFETY:
        // * `rqs` moves into the model, which drops the groups before it; its memory stays put.
        let refs = unsafe { L::allocate(&plan, &rqs) }?;
        // Task groups have a slab of their own in the kernel: they are allocated one after the
        // other here, in every layout and order.
        let groups = Groups::new(refs.into_iter().map(TaskGroup::new));
        let locks = (0..cpus).map(|_| Mutex::new(())).collect();
        let model = Self { groups, rqs, locks, tree_lock: Mutex::new(()), cpus };
        init::init(&model, tree);
        debug_assert_eq!(check(&model), Ok(()));
        Ok(model)
    }

    /// The table of groups.
    #[inline(always)]
    pub fn groups(&self) -> &Groups<L> {
        &self.groups
    }

    /// CPUs with state.
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
            if let Some(child) = self.groups.get(L::touched(&tg.links.child).get() as usize, guard)
            {
                (at, tg) = (L::touched(&tg.links.child).get(), child);
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
