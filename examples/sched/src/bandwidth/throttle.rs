//! Throttle and unthrottle of one group's queue on one CPU, and of all that is below it.

use super::control::{At, PELT_STANDS, State, THROTTLED, is_throttled};
use super::queue;
use super::{Semantics, list, planted, run};
use crate::layout::{Held, Layout};
use crate::model::leaf;
use crate::structs::{CfsRqFields, TreeLinks};

/// Charges `delta` nanoseconds to a queue (`__account_cfs_rq_runtime`).
pub(super) fn charge<L: Layout>(at: At<'_, L>, state: &mut State, group: usize, delta: u64) {
    let cfs = at.cfs(group);
    if group == 0 || cfs.runtime_enabled().get() == 0 {
        return;
    }
    cfs.runtime_remaining().add(-(delta as i64));
    if cfs.runtime_remaining().get() > 0 || is_throttled(cfs) {
        return;
    }
    match at.semantics() {
        Semantics::EntityRemoved => {
            let slice = at.control.settings.slice as i64;
            if !at.pool(group).assign(at, cfs, slice) && at.running(group) != 0 {
                // The queue is throttled when its task is put back.
                state.resched = true;
            }
        }
        Semantics::TasksDeferred => {
            throttle(at, state, group);
        }
    }
}

/// A queue that gets its first entity may have to be throttled at once (`check_enqueue_throttle`).
pub(super) fn check_enqueue<L: Layout>(at: At<'_, L>, state: &mut State, group: usize) {
    let cfs = at.cfs(group);
    if cfs.runtime_enabled().get() == 0 || at.running(group) != 0 || is_throttled(cfs) {
        return;
    }
    charge(at, state, group, 0);
    check(at, state, group);
}

/// Throttles a queue that has nothing left (`check_cfs_rq_runtime`).
pub(super) fn check<L: Layout>(at: At<'_, L>, state: &mut State, group: usize) {
    let cfs = at.cfs(group);
    let has_left = cfs.runtime_enabled().get() == 0 || cfs.runtime_remaining().get() > 0;
    if group != 0 && !has_left && !is_throttled(cfs) {
        throttle(at, state, group);
    }
}

/// Throttles a queue unless the pool has something for it after all (`throttle_cfs_rq`). Returns
/// whether it is throttled.
pub(super) fn throttle<L: Layout>(at: At<'_, L>, state: &mut State, group: usize) -> bool {
    let cfs = at.cfs(group);
    let runs = at.running(group) != 0;
    let mut pool = at.pool(group);
    // A queue that runs would soon ask again: it takes a slice. Another is only to be runnable.
    let deferred = at.semantics() == Semantics::TasksDeferred;
    let target = if deferred && runs { at.control.settings.slice as i64 } else { 1 };
    if pool.assign(at, cfs, target) {
        return false;
    }
    let this = u64::from(at.cpu.get()) + 1;
    list::push_back(&pool.throttled, this, |key| node(at, group, key));
    drop(pool);
    at.control.model.walk_tg_tree_from(
        at.guard,
        group as u32,
        |tg| {
            let visited = L::tg_cfs_rq(tg, at.cpu).plain().tg().get() as usize;
            let has_children = tg.links.child.get() != TreeLinks::NONE;
            if !(planted!(at, ForgetsInnerCounts) && has_children) {
                down(at, visited);
            }
            L::visited();
        },
        |_| {},
    );
    if at.semantics() == Semantics::EntityRemoved {
        queue::remove_group(at, state, group);
    }
    cfs.throttled().set(cfs.throttled().get() | THROTTLED);
    match at.semantics() {
        Semantics::EntityRemoved if cfs.nr_queued().get() != 0 => {
            cfs.throttled_clock().set(at.now());
        }
        Semantics::TasksDeferred if runs => run::send_off(at, state),
        _ => {}
    }
    true
}

/// The node of a CPU's queue in the list of its group's throttled queues.
pub(super) fn node<L: Layout>(at: At<'_, L>, group: usize, key: u64) -> &crate::structs::ListHead {
    L::tg_cfs_rq(at.tg(group), corelocal::CpuId::new((key - 1) as u32)).plain().throttled_list()
}

/// One more of a queue's ancestors, or itself, is throttled (`tg_throttle_down`).
fn down<L: Layout>(at: At<'_, L>, group: usize) {
    let cfs = at.cfs(group);
    if cfs.throttle_count().get() == 0 {
        match at.semantics() {
            Semantics::EntityRemoved => {
                cfs.throttled_clock_pelt().set(L::touched(&at.rq.clock_pelt).get());
                leave_leaf_list(at, group);
                if cfs.throttled_clock_self().get() == 0 && cfs.nr_queued().get() != 0 {
                    cfs.throttled_clock_self().set(at.now());
                }
            }
            // With tasks still queued, the clock stands when the last of them has gone.
            Semantics::TasksDeferred if cfs.nr_queued().get() == 0 => stop_pelt(at, group),
            Semantics::TasksDeferred => {}
        }
    }
    cfs.throttle_count().add(1);
}

/// Load tracking's clock stands, and the queue leaves the leaf list.
pub(super) fn stop_pelt<L: Layout>(at: At<'_, L>, group: usize) {
    let cfs = at.cfs(group);
    leave_leaf_list(at, group);
    cfs.throttled_clock_pelt().set(L::touched(&at.rq.clock_pelt).get());
    cfs.throttled().set(cfs.throttled().get() | PELT_STANDS);
}

fn leave_leaf_list<L: Layout>(at: At<'_, L>, group: usize) {
    if !planted!(at, KeepsOnLeafList) {
        leaf::remove(at.rq, at.cfs(group));
    }
}

/// Load tracking's clock goes on.
pub(super) fn resume_pelt<L: Layout>(at: At<'_, L>, group: usize) {
    let cfs = at.cfs(group);
    let now = L::touched(&at.rq.clock_pelt).get();
    cfs.throttled_clock_pelt_time().add(now.wrapping_sub(cfs.throttled_clock_pelt().get()));
    cfs.throttled().set(cfs.throttled().get() & !PELT_STANDS);
}

/// Notes since when a throttled queue has tasks that wait (`record_throttle_clock`).
pub(super) fn note_waiting<L: Layout>(at: At<'_, L>, group: usize) {
    let cfs = at.cfs(group);
    if is_throttled(cfs) && cfs.throttled_clock().get() == 0 {
        cfs.throttled_clock().set(at.now());
    }
    if cfs.throttle_count().get() != 0 && cfs.throttled_clock_self().get() == 0 {
        cfs.throttled_clock_self().set(at.now());
    }
}

/// Lets a queue run again (`unthrottle_cfs_rq`).
pub(super) fn unthrottle<L: Layout>(at: At<'_, L>, state: &mut State, group: usize) {
    let cfs = at.cfs(group);
    // What was handed out may be used up by a task that still runs: then the queue waits on, since
    // the first task that came back would throttle it in the midst of this.
    let is_poor = cfs.runtime_enabled().get() != 0 && cfs.runtime_remaining().get() <= 0;
    if !is_throttled(cfs) || (is_poor && at.semantics() == Semantics::TasksDeferred) {
        return;
    }
    cfs.throttled().set(cfs.throttled().get() & !THROTTLED);
    state.sent[group] = 0;
    let pool = at.pool(group);
    let since = cfs.throttled_clock().get();
    if since != 0 {
        pool.throttled_time.add(at.now() - since);
        cfs.throttled_clock().set(0);
    }
    if !planted!(at, StaysListed) {
        let this = u64::from(at.cpu.get()) + 1;
        list::remove(&pool.throttled, this, |key| node(at, group, key));
    }
    drop(pool);
    let up = |tg| {
        let visited = L::tg_cfs_rq(tg, at.cpu).plain().tg().get() as usize;
        up(at, state, visited);
        L::visited();
    };
    at.control.model.walk_tg_tree_from(at.guard, group as u32, |_| {}, up);
    if cfs.load().weight.get() == 0 {
        if cfs.on_list().get() != 0 {
            // Nothing to run but something to decay: the branch is completed.
            queue::complete_branch(at, group);
        }
    } else if at.semantics() == Semantics::EntityRemoved {
        queue::add_group(at, state, group);
    }
    state.resched |= state.running.is_none() && at.cfs(0).nr_queued().get() != 0;
}

/// One less of a queue's ancestors, or itself, is throttled (`tg_unthrottle_up`).
fn up<L: Layout>(at: At<'_, L>, state: &mut State, group: usize) {
    let cfs = at.cfs(group);
    cfs.throttle_count().add(-1);
    if cfs.throttle_count().get() != 0 {
        return;
    }
    let stood = cfs.throttled().get() & PELT_STANDS != 0;
    if stood || at.semantics() == Semantics::EntityRemoved {
        resume_pelt(at, group);
    }
    let since = cfs.throttled_clock_self().get();
    if since != 0 {
        cfs.throttled_clock_self().set(0);
        cfs.throttled_clock_self_time().add(at.now() - since);
    }
    while let Some(id) = at.first_in_limbo(state, group) {
        queue::leave_limbo(at, state, id);
        queue::enqueue(at, state, id);
    }
    if !queue::is_decayed(at, group) {
        queue::list_leaf(at, group);
    }
}
