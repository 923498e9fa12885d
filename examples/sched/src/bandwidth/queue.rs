//! Entities go into queues and out of them: counters, loads, and the leaf list, up the hierarchy.

use super::control::{At, Entity, PELT_STANDS, State, is_throttled};
use super::task::{NICE_0_LOAD, Place, TaskId};
use super::{Semantics, list, planted, pool, throttle};
use crate::layout::Layout;
use crate::model::leaf;
use crate::structs::{CfsRqFields, SeFields};
use core::cmp::max;

/// Queues a task (`enqueue_task_fair`); one that was throttled goes to limbo while its queue is
/// (`enqueue_throttled_task`).
pub(super) fn enqueue<L: Layout>(at: At<'_, L>, state: &mut State, id: TaskId) {
    let task = state.tasks.get_mut(&id).expect("a task of this CPU");
    let group = task.group;
    let goes_to_limbo = task.throttled && at.cfs(group).throttle_count().get() != 0;
    if goes_to_limbo {
        return enter_limbo(at, state, id);
    }
    task.throttled = false;
    task.place = Place::Queued;
    task.vruntime = max(task.vruntime, state.vruntime[group].1);
    add(at, state, group, Entity::Task(id), NICE_0_LOAD);
    if !count(at, group, 1) {
        climb(at, state, group, 1);
    }
    update_weights(at, group);
    state.resched = true;
}

/// Takes a task out of its queue (`dequeue_task_fair`): it sleeps, moves, or is throttled.
pub(super) fn dequeue<L: Layout>(at: At<'_, L>, state: &mut State, id: TaskId, throttled: bool) {
    let group = state.tasks[&id].group;
    remove(at, state, group, Entity::Task(id), NICE_0_LOAD);
    let stop = count(at, group, -1);
    if throttled {
        throttle::note_waiting(at, group);
    }
    if !stop && !planted!(at, ForgetsAncestors) {
        descend(at, state, group, -1, at.cfs(group).nr_queued().get() == 0, throttled);
    }
    update_weights(at, group);
}

/// Puts a task on the limbo list of its queue.
pub(super) fn enter_limbo<L: Layout>(at: At<'_, L>, state: &mut State, id: TaskId) {
    let task = state.tasks.get_mut(&id).expect("a task of this CPU");
    task.place = Place::Limbo;
    task.throttled = true;
    let group = task.group;
    let node = |key: u64| &state.tasks[&((key - 1) as TaskId)].node;
    list::push_back(at.limbo(state, group), u64::from(id) + 1, node);
}

/// Takes a task off the limbo list (`dequeue_throttled_task`, or before it is queued again).
pub(super) fn leave_limbo<L: Layout>(at: At<'_, L>, state: &mut State, id: TaskId) {
    let group = state.tasks[&id].group;
    let node = |key: u64| &state.tasks[&((key - 1) as TaskId)].node;
    list::remove(at.limbo(state, group), u64::from(id) + 1, node);
    let task = state.tasks.get_mut(&id).expect("a task of this CPU");
    task.place = Place::Asleep(0);
}

/// Takes the entity of a throttled group out, and its tasks out of the ancestors' counters.
pub(super) fn remove_group<L: Layout>(at: At<'_, L>, state: &mut State, group: usize) {
    if at.se(group).is_some_and(|se| se.on_rq().get() != 0) {
        let tasks = at.cfs(group).h_nr_queued().get() as i32;
        descend(at, state, group, -tasks, true, false);
        update_weights(at, group);
    }
}

/// Puts the entity of a group back that was throttled.
pub(super) fn add_group<L: Layout>(at: At<'_, L>, state: &mut State, group: usize) {
    climb(at, state, group, at.cfs(group).h_nr_queued().get() as i32);
    update_weights(at, group);
}

/// Adds `tasks` to the counters of all ancestors and entities where there were none; ends at a
/// throttled queue whose own entity is removed.
fn climb<L: Layout>(at: At<'_, L>, state: &mut State, from: usize, tasks: i32) {
    let mut child = from;
    while let Some(parent) = at.parent(child) {
        let se = at.se(child).expect("not the root");
        if se.on_rq().get() == 0 {
            se.on_rq().set(1);
            state.vruntime[child].0 = max(state.vruntime[child].0, state.vruntime[parent].1);
            let weight = group_weight(at, child);
            se.load().weight.set(weight);
            add(at, state, parent, Entity::Group(child), weight);
        }
        if count(at, parent, tasks) {
            return;
        }
        child = parent;
    }
}

/// The other way: entities are removed as long as their queues are empty.
fn descend<L: Layout>(
    at: At<'_, L>,
    state: &mut State,
    from: usize,
    tasks: i32,
    mut removes: bool,
    throttled: bool,
) {
    let mut child = from;
    while let Some(parent) = at.parent(child) {
        let se = at.se(child).expect("not the root");
        if removes {
            se.on_rq().set(0);
            remove(at, state, parent, Entity::Group(child), se.load().weight.get());
            removes = at.cfs(parent).nr_queued().get() == 0;
        }
        let stop = count(at, parent, tasks);
        if throttled {
            throttle::note_waiting(at, parent);
        }
        if stop {
            return;
        }
        child = parent;
    }
}

/// Adds to a queue's counters of tasks; returns whether nothing above it knows of them.
fn count<L: Layout>(at: At<'_, L>, group: usize, tasks: i32) -> bool {
    let cfs = at.cfs(group);
    cfs.h_nr_queued().add(tasks as u32);
    cfs.h_nr_runnable().add(tasks as u32);
    at.semantics() == Semantics::EntityRemoved && is_throttled(cfs)
}

/// Puts an entity into a queue (`enqueue_entity`).
fn add<L: Layout>(at: At<'_, L>, state: &mut State, group: usize, entity: Entity, weight: u64) {
    let cfs = at.cfs(group);
    state.ready[group].push(entity);
    cfs.load().weight.add(weight);
    cfs.nr_queued().add(1);
    if cfs.nr_queued().get() != 1 {
        return;
    }
    throttle::check_enqueue(at, state, group);
    match at.semantics() {
        Semantics::EntityRemoved if cfs.throttle_count().get() != 0 => {
            throttle::note_waiting(at, group);
        }
        _ => {
            list_leaf(at, group);
        }
    }
    if cfs.throttled().get() & PELT_STANDS != 0 {
        throttle::resume_pelt(at, group);
    }
}

/// Takes an entity out of a queue (`dequeue_entity`).
fn remove<L: Layout>(at: At<'_, L>, state: &mut State, group: usize, entity: Entity, weight: u64) {
    let cfs = at.cfs(group);
    state.ready[group].retain(|&other| other != entity);
    cfs.load().weight.add(weight.wrapping_neg());
    cfs.nr_queued().add(1_u32.wrapping_neg());
    pool::return_runtime(at, group);
    let deferred = at.semantics() == Semantics::TasksDeferred;
    if deferred && cfs.nr_queued().get() == 0 && cfs.throttle_count().get() != 0 {
        throttle::stop_pelt(at, group);
    }
}

/// Puts a queue on the leaf list; returns whether its branch ends at a queue that was there
/// (`list_add_leaf_cfs_rq`).
pub(super) fn list_leaf<L: Layout>(at: At<'_, L>, group: usize) -> bool {
    if planted!(at, AppendsToLeafList) && at.cfs(group).on_list().get() == 0 {
        leaf::push_back(at.rq, at.cfs(group));
        return true;
    }
    leaf::add(at.control.model, at.guard, at.rq, at.tg(group), at.cfs(group), at.cpu);
    L::touched(&at.rq.tmp_alone_branch).is(None)
}

/// Lists the ancestors until the branch is complete.
pub(super) fn complete_branch<L: Layout>(at: At<'_, L>, group: usize) {
    for above in at.path(group).skip(1) {
        if list_leaf(at, above) {
            return;
        }
    }
}

/// Whether a queue has no load, past or present, and no child of it is listed
/// (`cfs_rq_is_decayed`).
pub(super) fn is_decayed<L: Layout>(at: At<'_, L>, group: usize) -> bool {
    let cfs = at.cfs(group);
    let sums = cfs.avg().load_sum.get() | cfs.avg().runnable_sum.get();
    if cfs.load().weight.get() | sums | cfs.tg_load_avg_contrib().get() != 0 {
        return false;
    }
    // A child's branch lies directly before its parent.
    let before = match cfs.on_list().get() {
        0 => L::touched(&at.rq.tmp_alone_branch).get(),
        _ => cfs.leaf_cfs_rq_list().prev.get(),
    };
    before.is_none_or(|child| at.parent(child.tg().get() as usize) != Some(group))
}

/// Takes the queues off the leaf list that have nothing left to decay
/// (`__update_blocked_fair`, without the decay).
pub(super) fn forget_decayed<L: Layout>(at: At<'_, L>) {
    let mut at_cfs = at.rq.leaf.next.get();
    while let Some(cfs) = at_cfs {
        at_cfs = cfs.leaf_cfs_rq_list().next.get();
        if is_decayed(at, cfs.tg().get() as usize) {
            leaf::remove(at.rq, cfs);
        }
    }
}

/// The part of the group's shares that its queue on this CPU has by its load (`calc_group_shares`
/// in the mode `smp`, with loads as they are).
fn group_weight<L: Layout>(at: At<'_, L>, group: usize) -> u64 {
    let (tg, cfs) = (at.tg(group), at.cfs(group));
    let (load, contrib) = (cfs.load().weight.get(), cfs.tg_load_avg_contrib());
    if load != contrib.get() {
        // The kernel adds atomically; here the pool's lock is at hand.
        let _held = at.pool(group);
        L::touched(&tg.load_avg).0.add(load.wrapping_sub(contrib.get()));
        contrib.set(load);
    }
    let (all, shares) = (L::touched(&tg.load_avg).0.get(), tg.shares.get());
    if all == 0 {
        return shares;
    }
    let part = u128::from(shares) * u128::from(load) / u128::from(all);
    (part as u64).clamp(2, max(shares, 2))
}

/// Weighs the entities from a group to the root anew (`update_cfs_group`, `reweight_entity`).
pub(super) fn update_weights<L: Layout>(at: At<'_, L>, from: usize) {
    for group in at.path(from).take_while(|&group| group != 0) {
        let se = at.se(group).expect("not the root");
        let (old, new) = (se.load().weight.get(), group_weight(at, group));
        if old == new {
            continue;
        }
        se.load().weight.set(new);
        let parent = at.parent(group).expect("not the root");
        if se.on_rq().get() != 0 && !planted!(at, ForgetsLoad) {
            at.cfs(parent).load().weight.add(new.wrapping_sub(old));
        }
    }
}
