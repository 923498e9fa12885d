//! Decay of what sleeps: all queues of one CPU that still have load, children before parents.

use super::average::{Attach, update_cfs_rq, update_load_avg};
use super::group::update_tg_load_avg;
use crate::layout::{Cfs, Held, Layout, Se};
use crate::model::{Locked, leaf};
use crate::structs::{CfsRqFields, SeFields};

/// Brings every queue on the leaf list up to date, hands on to its parent what changed, and takes
/// off the list what has nothing left (`__update_blocked_fair`). Returns how many queues were
/// visited.
pub fn update_blocked_averages<L: Layout>(locked: &Locked<'_, L>) -> usize {
    let mut visited = 0;
    let mut link = locked.rq.leaf.next.get();
    while let Some(cfs) = link {
        // Before the queue leaves the list.
        link = cfs.leaf_cfs_rq_list().next.get();
        visited += 1;
        if update_cfs_rq(locked, cfs) {
            update_tg_load_avg(locked, cfs);
        }
        if let Some(se) = locked.se_of(cfs).filter(|se| !may_skip::<L>(se, cfs)) {
            let above = se.cfs_rq().get().expect("an entity waits in a queue");
            update_load_avg(locked, above, se, true, Attach::Stay);
        }
        if is_decayed(locked, cfs) {
            leaf::remove(locked.rq, cfs);
        }
    }
    visited
}

/// Whether the entity has nothing to decay and its queue nothing to hand on
/// (`skip_blocked_update`).
fn may_skip<L: Layout>(se: &Se<L>, cfs: &Cfs<L>) -> bool {
    se.avg().load_avg.get() == 0 && se.avg().util_avg.get() == 0 && cfs.propagate().get() == 0
}

/// Whether a queue can leave the leaf list: no weight, no sums, nothing reported to its group, and
/// no child on the list (`cfs_rq_is_decayed`).
pub fn is_decayed<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) -> bool {
    let avg = cfs.avg();
    let left = cfs.load().weight.get()
        | avg.load_sum.get()
        | avg.runnable_sum.get()
        | u64::from(avg.util_sum.get())
        | cfs.tg_load_avg_contrib().get();
    left == 0 && !has_listed_child(locked, cfs)
}

/// Whether a child's queue is on the list. The kernel asks only whether the neighbour before is a
/// child's (`child_cfs_rq_on_list`), which is not enough: the child that began a branch stands at
/// the head of the list and its parent before the grandparent, with others between. Such a parent
/// left before its child and came back in front of it; a test has the sequence.
fn has_listed_child<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) -> bool {
    let tg = |index: u32| locked.tg(index as usize);
    let mut child = tg(locked.tg_of(cfs).links.child.get_acquire());
    while let Some(below) = child {
        if L::tg_cfs_rq(below, locked.cpu).plain().on_list().get() != 0 {
            return true;
        }
        child = tg(below.links.sibling.get());
    }
    false
}
