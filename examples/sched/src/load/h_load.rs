//! Load as seen from the root: a task's part of its group's queue, times that group's part of the
//! next, and so on. What the load balancer compares.

use crate::layout::{Cfs, Layout};
use crate::model::{Locked, Task};
use crate::structs::{CfsRqFields, SeFields};

/// Brings `h_load` of a queue and of those above it up to date, at most once in a tick of the slow
/// clock for each path (`update_cfs_rq_h_load`).
///
/// On the way up each queue notes which child to come down by, and the climb ends at the first
/// queue that is up to date; where the kernel keeps the child's entity, the model keeps the
/// index of its group, which is never the root's 0.
pub fn update_cfs_rq_h_load<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) {
    // The tick 0 is when nothing was ever updated.
    let now = locked.jiffies() + 1;
    if cfs.last_h_load_update().get() == now {
        return;
    }
    cfs.h_load_next().set(0);
    let mut top = cfs;
    while let Some(se) = locked.se_of(top) {
        let above = se.cfs_rq().get().expect("an entity waits in a queue");
        above.h_load_next().set(top.tg().get());
        top = locked.cfs(above.tg().get() as usize).expect("a parent stays");
        if top.last_h_load_update().get() == now {
            break;
        }
    }
    if top.last_h_load_update().get() != now {
        top.h_load().set(top.avg().load_avg.get());
        top.last_h_load_update().set(now);
    }
    while let next @ 1.. = top.h_load_next().get() {
        let below = locked.cfs(next as usize).expect("it was passed on the way up");
        let se = locked.se_of(below).expect("not the root");
        let load = top.h_load().get() * se.avg().load_avg.get() / (top.avg().load_avg.get() + 1);
        below.h_load().set(load);
        below.last_h_load_update().set(now);
        top = below;
    }
}

/// The load of a task as seen from the root (`task_h_load`).
///
/// # Panics
///
/// If the task is placed on another CPU.
pub fn task_h_load<L: Layout>(locked: &Locked<'_, L>, task: &Task<'_, L>) -> u64 {
    assert_eq!(task.cpu(), locked.cpu, "{task:?} is placed elsewhere");
    let cfs = task.se().cfs_rq().get().expect("a task has a queue");
    update_cfs_rq_h_load(locked, cfs);
    task.se().avg().load_avg.get() * cfs.h_load().get() / (cfs.avg().load_avg.get() + 1)
}
