//! The hot paths of one CPU's queues.

use super::{GROUPS, Queues, TASKS};
use crate::layout::Layout;
use crate::load::queue::{Leaving, update_level};
use crate::load::{dequeue_task, enqueue_task, update_blocked_averages};
use crate::model::{Locked, Model, Task};
use crate::pick::entity::TICK;
use crate::structs::{CfsRqFields, LaterFields, SeFields};
use core::cell::Cell;
use core::ptr;
use corelocal::CpuId;
use crossbeam_epoch as epoch;

/// No model: the work alone.
pub(super) struct Nothing;

impl Queues for Nothing {
    fn enqueue(&self, _: usize) {}
    fn dequeue(&self, _: usize) {}
    fn switch(&self, _: usize, _: usize) {}
    fn tick(&self, _: usize) {}
}

/// Tasks, dealt to the groups of a model, all on one CPU.
pub(super) struct InLayout<'m, L: Layout> {
    model: &'m Model<L>,
    cpu: CpuId,
    tasks: Vec<Task<'m, L>>,
    ticks: Cell<u64>,
}

/// Ticks between two rounds over what is blocked, as the kernel's balancing does it every few.
const BLOCKED: u64 = 4;

impl<'m, L: Layout> InLayout<'m, L> {
    pub(super) fn new(model: &'m Model<L>, cpu: CpuId) -> Self {
        let task = |number: usize| {
            let group = 1 + number % GROUPS as usize;
            Task::new(model, group, cpu, 1024).expect("the tree has these groups")
        };
        Self { model, cpu, tasks: (0..TASKS).map(task).collect(), ticks: Cell::new(0) }
    }

    fn locked(&self, act: impl FnOnce(&Locked<'_, L>)) {
        let guard = &epoch::pin();
        act(&Locked::new(self.model, guard, self.cpu));
    }

    /// Marks at each level who runs, or that nobody does, after bringing the level up to date.
    fn level(&self, locked: &Locked<'_, L>, task: usize, runs: bool) {
        for se in locked.chain(self.tasks[task].se()) {
            let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
            update_level(locked, cfs, se);
            let who = if runs { ptr::from_ref(se).addr() as u64 } else { 0 };
            cfs.h_curr().unwrap_or_else(|| cfs.curr()).set(who);
        }
    }
}

impl<L: Layout> Queues for InLayout<'_, L> {
    fn enqueue(&self, task: usize) {
        self.locked(|locked| enqueue_task(locked, &self.tasks[task]));
    }

    fn dequeue(&self, task: usize) {
        self.locked(|locked| {
            dequeue_task(locked, &self.tasks[task], Leaving::Sleep);
            for se in locked.chain(self.tasks[task].se()) {
                let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
                let curr = cfs.h_curr().unwrap_or_else(|| cfs.curr());
                if curr.get() == ptr::from_ref(se).addr() as u64 {
                    curr.set(0);
                }
            }
        });
    }

    fn switch(&self, from: usize, to: usize) {
        self.locked(|locked| {
            self.level(locked, from, false);
            self.level(locked, to, true);
        });
    }

    fn tick(&self, task: usize) {
        self.locked(|locked| {
            locked.advance(TICK);
            self.level(locked, task, true);
            self.ticks.set(self.ticks.get() + 1);
            if self.ticks.get() % BLOCKED == 0 {
                update_blocked_averages(locked);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Control, Work, build};
    use super::*;
    use crate::layout::{Held, L0, L2, Order};
    use crate::model::check;
    use crate::structs::v7_2::V7_2;
    use crate::tree::Tree;
    use corelocal::Area;

    fn all<L: Layout>() -> Vec<u64> {
        let area = Area::builder().cpus(Area::global().lanes() as u32 - 1).build().unwrap();
        let tree = Tree::regular(GROUPS, 1).unwrap();
        let model = build::<L>(&tree, 1, Order::Allocation, &area).unwrap();
        let queues = InLayout::new(&model, CpuId::new(0));
        let mut work = Work::new(1);
        for control in Control::ALL {
            control.run(&queues, &mut work, 40);
            check(&model).unwrap();
            let root = model
                .groups()
                .get(0, &epoch::pin())
                .map(|tg| L::tg_cfs_rq(tg, CpuId::new(0)).plain().h_nr_queued().get());
            assert_eq!(root, Some(0), "{control:?} leaves tasks in queues");
        }
        let load = |task: &Task<'_, L>| task.se().avg().load_avg.get();
        queues.tasks.iter().map(load).collect()
    }

    #[test]
    fn every_layout_keeps_the_same_books_of_the_controls() {
        let loads = all::<L0<V7_2>>();
        assert_eq!(loads, all::<L2<V7_2>>());
        assert!(loads.iter().any(|&load| load > 0));
    }
}
