//! Decay of blocked load over the leaf list, a task's load in the hierarchy, and what is rare: other
//! shares, a CPU that goes offline.

use super::queue::On;
use crate::layout::{Cfs, Held, Layout, Se};
use crate::model::{Tg, leaf};
use crate::structs::{CfsRqFields, SeFields};
use core::ptr;

impl<'g, L: Layout> On<'g, L> {
    /// `__update_blocked_fair`: every queue of the leaf list, children first. `held` knows the queue
    /// of a group. How many there were.
    pub(super) fn decay(self, held: impl Fn(u64) -> L::Cfs<'g>) -> u64 {
        let (mut count, mut at) = (0, L::touched(&self.rq.leaf).next.get());
        while let Some(queue) = at {
            let next = queue.leaf_cfs_rq_list().next.get();
            self.decay_one(queue, held(queue.tg().get()));
            (count, at) = (count + 1, next);
        }
        count
    }

    pub(super) fn decay_one(self, queue: &Cfs<L>, held: L::Cfs<'g>) {
        self.queue_load(queue);
        self.report(queue);
        queue.nr_queued();
        let entity = L::cfs_rq_se(self.model.groups(), self.guard, held, self.cpu);
        if let Some(se) = entity.map(Held::plain) {
            let busy = se.avg().load_avg.get() | se.avg().util_avg.get();
            // Looked at in any case: by the test whether to go on, or by the update.
            let propagate = queue.propagate().get();
            if busy != 0 || propagate != 0 {
                let above = se.cfs_rq().get().expect("an entity waits in a queue");
                self.load(above, Some(se), false);
            }
        }
        let avg = queue.avg();
        let left = queue.load().weight.get()
            | avg.load_sum.get()
            | avg.runnable_sum.get()
            | u64::from(avg.util_sum.get())
            | queue.tg_load_avg_contrib().get();
        if left == 0 {
            leaf::remove(self.rq, queue);
        }
    }

    /// `update_cfs_rq_h_load`: up to the root or to a queue that is up to date, then down again.
    pub(super) fn h_load(self, queue: &Cfs<L>, entity: Option<&Se<L>>, jiffy: u64) -> u64 {
        if queue.last_h_load_update().get() == jiffy {
            return queue.h_load().get();
        }
        queue.h_load_next().set(0);
        let mut way: Vec<&Se<L>> = Vec::with_capacity(8);
        let (mut top, mut at) = (queue, entity);
        while let Some(se) = at {
            top = se.cfs_rq().get().expect("an entity waits in a queue");
            top.h_load_next().set(ptr::from_ref(se).addr() as u64);
            way.push(se);
            at = se.parent().get().filter(|_| top.last_h_load_update().get() != jiffy);
        }
        if top.last_h_load_update().get() != jiffy {
            top.h_load().set(top.avg().load_avg.get());
            top.last_h_load_update().set(jiffy);
        }
        let mut load = top.h_load().get();
        for se in way.into_iter().rev() {
            let above = se.cfs_rq().get().expect("an entity waits in a queue");
            let all = above.avg().load_avg.get() + 1;
            load = load.saturating_mul(se.avg().load_avg.get()) / all;
            let owned = se.my_q().get().expect("the entity of a group");
            owned.h_load().set(load);
            owned.last_h_load_update().set(jiffy);
        }
        load
    }

    /// Other shares of a group, on this CPU (`__sched_group_set_shares`).
    pub(super) fn set_shares(self, tg: &Tg<L>) {
        let mut at = L::tg_se(tg, self.cpu).map(Held::plain);
        while let Some(se) = at {
            let queue = se.cfs_rq().get().expect("an entity waits in a queue");
            self.load(queue, Some(se), true);
            self.weigh(queue, se);
            at = se.parent().get();
        }
    }

    /// A CPU that goes offline looks at every group: has it a quota, is it throttled? The kernel
    /// then gives it runtime; here it goes on as it was.
    pub(super) fn offline(self, tg: &Tg<L>) -> u64 {
        let queue = L::tg_cfs_rq(tg, self.cpu).plain();
        let enabled = queue.runtime_enabled().get();
        queue.runtime_enabled().set(enabled);
        let left = queue.runtime_remaining().get();
        queue.runtime_remaining().set(left);
        (enabled as u64).wrapping_add(queue.throttled().get() as u64)
    }
}
