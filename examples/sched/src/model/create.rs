//! Creation of a group, in two steps as in the kernel: memory and initial state
//! (`sched_create_group`), then publication (`sched_online_group`).

use super::init::{init_cfs_rq, init_tg_cfs_entry, narrow, set_limits};
use super::{JoinError, Locked, Model, Tg};
use crate::layout::{Gate, Held, Layout, Order, Plan, Unfinished};
use crate::structs::{CfsRqFields, TaskGroup, TreeLinks};
use crate::tree::Limits;
use core::fmt;
use corelocal::{AllocError, Area};
use crossbeam_epoch as epoch;
use std::sync::PoisonError;

/// Why a group was not created. Nothing was changed, and no memory is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreateError {
    /// The parent is not there, or is being released.
    NoParent,
    /// The model's table is full: it was built with too little room.
    Full,
    /// The memory for this group was refused.
    Memory(Option<AllocError>),
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoParent => f.write_str("the parent group is not there"),
            Self::Full => f.write_str("the table of groups is full: build it with more room"),
            Self::Memory(None) => f.write_str("an allocation was refused by the gate"),
            Self::Memory(Some(error)) => write!(f, "per-CPU memory was refused: {error}"),
        }
    }
}

impl std::error::Error for CreateError {}

/// A group that nobody knows of yet. Dropped, it is as if it had never been.
pub struct NewGroup<'m, L: Layout> {
    model: &'m Model<L>,
    parent: usize,
    /// The slot that was reserved, until the group is in it.
    slot: Option<usize>,
    tg: Option<Box<Tg<L>>>,
}

impl<L: Layout> Model<L> {
    /// Allocates and initialises a group below `parent`, with per-CPU memory from `area`: state
    /// for every possible CPU. `gate` can refuse allocations; what a layout of many objects has
    /// got by then is freed here, in whatever state it is.
    ///
    /// The group reaches its queues before they are initialised, because their initialisation asks
    /// it for them; nobody else reaches it before [`NewGroup::publish`].
    ///
    /// # Errors
    ///
    /// [`CreateError`].
    ///
    /// # Panics
    ///
    /// If `area` has fewer CPUs than the model.
    #[allow(unsafe_code, reason = "the group refers to the run queues of its model")]
    pub fn create(
        &self,
        parent: usize,
        limits: Limits,
        area: &Area,
        mut gate: Gate,
    ) -> Result<NewGroup<'_, L>, CreateError> {
        assert!(area.lanes() > self.cpus as usize, "the area has a lane for every CPU");
        // From here on the parent stays.
        self.join(parent).map_err(|_| CreateError::NoParent)?;
        let mut new = NewGroup { model: self, parent, slot: None, tg: None };
        let mut tree = self.tree_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let index = tree.pop().ok_or(CreateError::Full)?;
        drop(tree);
        new.slot = Some(index);
        let plan = Plan { groups: 1, cpus: self.cpus, order: Order::Allocation, area };
        // SAFETY:
        // * the model drops its groups before its run queues, and `new` borrows the model.
        let refs = match unsafe { L::allocate_one(&plan, &self.rqs, &mut gate) } {
            Ok(refs) => refs,
            Err(Unfinished { refs, error }) => {
                drop(refs);
                return Err(CreateError::Memory(error));
            }
        };
        let tg = new.tg.insert(Box::new(TaskGroup::new(refs)));
        set_limits(tg, limits);
        tg.links.parent.set(narrow(parent));
        let guard = &epoch::pin();
        let above = self.groups.get(parent, guard).expect("a joined group stays");
        for cpu in self.cpus() {
            init_cfs_rq(self, tg, index, cpu);
            init_tg_cfs_entry::<L>(tg, above, cpu);
        }
        Ok(new)
    }

    /// Counts one more task or new child of the group at `index`: it stays until
    /// [`leave`](Model::leave).
    pub(super) fn join(&self, index: usize) -> Result<(), JoinError> {
        let guard = &epoch::pin();
        let tg = self.groups.get(index, guard).ok_or(JoinError::NotThere)?;
        let open = |tasks: u32| (tasks < TreeLinks::CLOSED - 1).then(|| tasks + 1);
        tg.links.tasks.try_update(open).map(|_| ()).map_err(|_| JoinError::NotThere)
    }

    pub(super) fn leave(&self, index: usize) {
        let guard = &epoch::pin();
        let tg = self.groups.get(index, guard).expect("a joined group stays");
        tg.links.tasks.try_update(|tasks| Some(tasks - 1)).expect("it always makes something");
    }
}

impl<L: Layout> NewGroup<'_, L> {
    /// The index that the group will have.
    pub fn index(&self) -> usize {
        self.slot.expect("not yet published")
    }

    /// Publishes the group: first in the list of all groups, then among its parent's children;
    /// then, one CPU after the other with its run queue locked, it takes over what of throttling
    /// is in force above it (`sync_throttle`), and `attach` is called. Returns its index.
    pub fn publish(mut self, mut attach: impl FnMut(&Locked<'_, L>, &Tg<L>)) -> usize {
        let (model, index) = (self.model, self.index());
        let guard = &epoch::pin();
        let tree = model.tree_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let tg = self.tg.take().expect("published once");
        let above = model.groups.get(self.parent, guard).expect("a joined group stays");
        tg.links.sibling.set(above.links.child.get());
        // Not released before it is wholly online.
        tg.links.tasks.set(1);
        let before = model.listed_before(index, guard);
        for cpu in model.cpus() {
            let next = L::tg_cfs_rq(before, cpu).plain().throttled_pelt_idle();
            L::tg_cfs_rq(&tg, cpu).plain().throttled_pelt_idle().set(next.get());
        }
        model.groups.put(index, tg, guard);
        self.slot = None;
        for cpu in model.cpus() {
            L::tg_cfs_rq(before, cpu).plain().throttled_pelt_idle().set(index as u64);
        }
        // Release: pairs with the Acquire of the tree walk: who meets the child finds it in the
        // table.
        above.links.child.set_release(narrow(index));
        drop(tree);
        let tg = model.groups.get(index, guard).expect("just put");
        for cpu in model.cpus() {
            let locked = Locked::new(model, guard, cpu);
            sync_throttle(&locked, tg, above);
            attach(&locked, tg);
        }
        model.leave(index);
        // Its child keeps the parent from now on; `Drop` leaves it.
        index
    }
}

/// A group below a throttled one is throttled as often, and its clock stands from now on.
fn sync_throttle<L: Layout>(locked: &Locked<'_, L>, tg: &Tg<L>, above: &Tg<L>) {
    let cfs = L::tg_cfs_rq(tg, locked.cpu).plain();
    let count = L::tg_cfs_rq(above, locked.cpu).plain().throttle_count().get();
    cfs.throttle_count().set(count);
    if count != 0 {
        locked.stop_clock(cfs);
    }
}

impl<L: Layout> Drop for NewGroup<'_, L> {
    fn drop(&mut self) {
        self.tg = None;
        if let Some(index) = self.slot {
            self.model.give_back(index);
        }
        self.model.leave(self.parent);
    }
}

impl<L: Layout> fmt::Debug for NewGroup<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewGroup").field("parent", &self.parent).field("slot", &self.slot).finish()
    }
}
