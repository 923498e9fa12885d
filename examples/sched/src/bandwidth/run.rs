//! Which task runs on a CPU, and what it is charged.

use super::control::{At, Entity, State};
use super::task::{NICE_0_LOAD, Place, TaskId};
use super::{Semantics, planted, queue, throttle};
use crate::layout::Layout;
use crate::structs::{CfsRqFields, LaterFields, SeFields};
use core::cmp::max;

/// Charges what the running task ran, to all levels (`update_curr`).
pub(super) fn update<L: Layout>(at: At<'_, L>, state: &mut State) {
    let Some(id) = state.running else { return };
    let delta = at.now() - state.exec_start;
    state.exec_start = at.now();
    if delta == 0 {
        return;
    }
    let task = state.tasks.get_mut(&id).expect("the running task");
    task.ran += delta;
    task.left = task.left.saturating_sub(delta);
    task.vruntime += delta;
    let group = task.group;
    for above in at.path(group).take_while(|&above| above != 0) {
        let weight = max(at.se(above).expect("not the root").load().weight.get(), 1);
        let by_weight = u128::from(delta) * u128::from(NICE_0_LOAD) / u128::from(weight);
        state.vruntime[above].0 += by_weight as u64;
        if at.cfs(above).runtime_enabled().get() != 0 {
            state.used[above] += delta;
        }
    }
    for above in at.path(group) {
        let least = state.ready[above].iter().map(|&entity| vruntime(state, entity)).min();
        let floor = &mut state.vruntime[above].1;
        *floor = max(*floor, least.unwrap_or(0));
    }
    for above in at.path(group) {
        throttle::charge(at, state, above, delta);
    }
}

/// Puts the running task back and chooses anew, if there is a reason to (`__schedule`).
pub(super) fn schedule<L: Layout>(at: At<'_, L>, state: &mut State) {
    while core::mem::take(&mut state.resched) {
        put_previous(at, state);
        if let Some(id) = pick(state) {
            set_next(at, state, id);
        }
    }
}

/// `put_prev_task_fair`: an exhausted queue is throttled here, at every level.
fn put_previous<L: Layout>(at: At<'_, L>, state: &mut State) {
    update(at, state);
    let Some(id) = state.running.take() else { return };
    let task = state.tasks.get_mut(&id).expect("the running task");
    // What it was told is told again when it is picked again.
    task.returns = None;
    let group = task.group;
    let path: Vec<usize> = at.path(group).collect();
    for &above in &path {
        mark(at, above, 0);
    }
    for above in path {
        if at.semantics() == Semantics::EntityRemoved {
            throttle::check(at, state, above);
        }
    }
}

/// The running task stops, and none is chosen yet.
pub(super) fn stop<L: Layout>(at: At<'_, L>, state: &mut State) {
    put_previous(at, state);
}

/// The task that has run least, by weight at each level.
fn pick(state: &State) -> Option<TaskId> {
    let mut group = 0;
    loop {
        let least = state.ready[group].iter().min_by_key(|&&entity| vruntime(state, entity))?;
        match *least {
            Entity::Task(id) => return Some(id),
            Entity::Group(child) => group = child,
        }
    }
}

/// What an entity has run, by its weight.
fn vruntime(state: &State, entity: Entity) -> u64 {
    match entity {
        Entity::Task(id) => state.tasks[&id].vruntime,
        Entity::Group(child) => state.vruntime[child].0,
    }
}

/// `set_next_task_fair`: marks the path that runs; a task of a throttled queue is sent off.
fn set_next<L: Layout>(at: At<'_, L>, state: &mut State, id: TaskId) {
    state.running = Some(id);
    state.exec_start = at.now();
    state.picked = at.now();
    let mut entity = Entity::Task(id);
    let group = state.tasks[&id].group;
    for above in at.path(group) {
        mark(at, above, entity.word());
        entity = Entity::Group(above);
    }
    if at.cfs(0).h_curr().is_some() {
        at.cfs(0).curr().set(Entity::Task(id).word());
    }
    let deferred = at.semantics() == Semantics::TasksDeferred;
    if deferred && at.cfs(group).throttle_count().get() != 0 {
        send_off(at, state);
    }
}

/// Marks the entity of a queue that runs: in `curr`, or in `h_curr` where the pick is flat and only
/// the root has a `curr`, the task.
fn mark<L: Layout>(at: At<'_, L>, group: usize, word: u64) {
    let cfs = at.cfs(group);
    match cfs.h_curr() {
        Some(running) => {
            running.set(word);
            if group == 0 && word == 0 {
                cfs.curr().set(0);
            }
        }
        None => cfs.curr().set(word),
    }
}

/// The running task is to go when it returns to user space (`task_throttle_setup_work`).
pub(super) fn send_off<L: Layout>(at: At<'_, L>, state: &mut State) {
    let Some(id) = state.running else { return };
    let task = state.tasks.get_mut(&id).expect("the running task");
    let stays = task.kernel_thread && !planted!(at, ThrottlesKernelThreads);
    if stays || task.returns.is_some() {
        return;
    }
    task.returns = Some(at.now() + task.behaviour.stay);
    let group = task.group;
    for above in at.path(group) {
        state.sent[above] += 1;
    }
}

/// The running task returns to user space: it goes to limbo if its queue is still throttled
/// (`throttle_cfs_rq_work`).
pub(super) fn return_to_user<L: Layout>(at: At<'_, L>, state: &mut State) {
    update(at, state);
    let Some(id) = state.running else { return };
    let task = state.tasks.get_mut(&id).expect("the running task");
    task.returns = None;
    if at.cfs(task.group).throttle_count().get() == 0 {
        return;
    }
    if !planted!(at, StaysQueued) {
        queue::dequeue(at, state, id, true);
    }
    queue::enter_limbo(at, state, id);
    state.resched = true;
}

/// The running task has run as long as it wanted: it sleeps for `off`.
pub(super) fn sleep<L: Layout>(at: At<'_, L>, state: &mut State) {
    update(at, state);
    let Some(id) = state.running else { return };
    let task = state.tasks.get_mut(&id).expect("the running task");
    let behaviour = task.behaviour;
    task.left = behaviour.on;
    if behaviour.off == 0 {
        return;
    }
    queue::dequeue(at, state, id, false);
    let until = Place::Asleep(at.now() + behaviour.off);
    state.tasks.get_mut(&id).expect("the running task").place = until;
    state.resched = true;
}

/// `task_tick_fair`, and the balancer's look at the leaf list.
pub(super) fn tick<L: Layout>(at: At<'_, L>, state: &mut State) {
    update(at, state);
    queue::forget_decayed(at);
    let Some(id) = state.running else { return };
    let group = state.tasks[&id].group;
    queue::update_weights(at, group);
    let alone = at.path(group).all(|above| state.ready[above].len() < 2);
    let turn = at.control.settings.turn;
    state.resched |= !alone && at.now() - state.picked >= turn;
}
