//! [`check`]: what holds between any two steps, in every layout and with both semantics.

use super::control::{At, Control, Entity, State, THROTTLED, is_limited, is_throttled};
use super::task::{NICE_0_LOAD, Place};
use super::{Semantics, list, pool, throttle};
use crate::layout::{Held, Layout};
use crate::structs::{CfsRqFields, LaterFields, SeFields};
use corelocal::CpuId;

/// Checks every CPU and group, besides what [`crate::model::check`] does:
///
/// * the throttle count is the number of throttled queues from the group to the root;
/// * the queue's counters are those of what is in it; its load is the sum of the entities' weights;
///   a group's entity is in its parent's queue exactly if it has to be;
/// * a queue with load is on the leaf list as far as the semantics say, and behind it its parent;
/// * a task is in one place: asleep, queued, or in limbo; only a throttled queue has a limbo, and no
///   kernel thread is in it;
/// * a throttled queue, and no other, is on its group's list of throttled queues;
/// * the words that mark what runs lead from the root to the running task, and nowhere else;
/// * what refills added and queues were given, less what tasks ran, is in the pool and the queues;
/// * what was granted since the last refill is at most quota and burst;
/// * a queue's debt is at most what can be run until it is noticed.
///
/// # Errors
///
/// The first CPU and group that break one, and which.
pub fn check<L: Layout>(control: &Control<'_, L>) -> Result<(), String> {
    crate::model::check(control.model)?;
    let groups = control.model.groups().len();
    let mut sums = vec![(0_i64, 0_u64); groups];
    for cpu in control.model.cpus() {
        let held = control.lock(cpu);
        let (at, state) = (held.at(), held.state());
        let said = |what: String| format!("{} CPU {}: {what}", L::NAME, cpu.get());
        for (group, sum) in sums.iter_mut().enumerate() {
            if control.model.groups().get(group, at.guard).is_none() {
                continue;
            }
            let said = |what: &str| said(format!("group {group}: {what}"));
            check_queue(at, state, group).map_err(said)?;
            check_limbo(at, state, group).map_err(said)?;
            check_debt(at, state, group).map_err(said)?;
            sum.0 += at.cfs(group).runtime_remaining().get();
            sum.1 += state.used[group];
        }
        check_path(at, state).map_err(|what| said(what.to_owned()))?;
        check_tasks(at, state).map_err(|what| said(what.to_owned()))?;
    }
    for (group, (local, used)) in sums.into_iter().enumerate().skip(1) {
        let held = control.lock(CpuId::new(0));
        if control.model.groups().get(group, held.at().guard).is_some() {
            let checked = check_pool(held.at(), group, local, used);
            checked.map_err(|what| format!("{} group {group}: {what}", L::NAME))?;
        }
    }
    Ok(())
}

type Checked = Result<(), &'static str>;

fn ensure(holds: bool, what: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(what) }
}

fn check_queue<L: Layout>(at: At<'_, L>, state: &State, group: usize) -> Checked {
    let cfs = at.cfs(group);
    let throttled = at.path(group).filter(|&above| is_throttled(at.cfs(above))).count();
    let count = cfs.throttle_count().get();
    ensure(count == throttled as i32, "the throttle count is not that of throttled ancestors")?;
    let (mut tasks, mut load) = (0, 0);
    for &entity in &state.ready[group] {
        match entity {
            Entity::Task(_) => {
                tasks += 1;
                load += NICE_0_LOAD;
            }
            Entity::Group(child) => {
                let se = at.se(child).ok_or("the root's entity is queued")?;
                ensure(at.parent(child) == Some(group), "another group's child is queued")?;
                ensure(se.on_rq().get() == 1, "an entity is queued and not marked so")?;
                tasks += at.cfs(child).h_nr_queued().get();
                load += se.load().weight.get();
            }
        }
    }
    ensure(cfs.nr_queued().get() as usize == state.ready[group].len(), "nr_queued is wrong")?;
    ensure(cfs.h_nr_queued().get() == tasks, "h_nr_queued is not the sum below")?;
    ensure(cfs.h_nr_runnable().get() == tasks, "h_nr_runnable is not the sum below")?;
    ensure(cfs.load().weight.get() == load, "the load is not the sum of the weights")?;
    let removed = at.semantics() == Semantics::EntityRemoved;
    if let (Some(se), Some(parent)) = (at.se(group), at.parent(group)) {
        let belongs = !(state.ready[group].is_empty() || removed && is_throttled(cfs));
        ensure((se.on_rq().get() != 0) == belongs, "the entity is queued wrongly or missing")?;
        let is_there = state.ready[parent].contains(&Entity::Group(group));
        ensure(is_there == belongs, "the entity is not where it is marked to be")?;
    }
    check_listed(at, group)?;
    let listed = list::is_listed(cfs.throttled_list());
    ensure(listed == is_throttled(cfs), "throttled, or on the list of throttled, but not both")
}

/// Where the leaf list must have a queue, and where it must not.
fn check_listed<L: Layout>(at: At<'_, L>, group: usize) -> Checked {
    let cfs = at.cfs(group);
    let stands = match at.semantics() {
        Semantics::EntityRemoved => cfs.throttle_count().get() != 0,
        Semantics::TasksDeferred => cfs.throttle_count().get() != 0 && cfs.nr_queued().get() == 0,
    };
    let listed = cfs.on_list().get() != 0;
    ensure(!(listed && stands), "a queue that stands still is on the leaf list")?;
    ensure(listed || stands || cfs.nr_queued().get() == 0, "a queue with load is not listed")?;
    let above = at.parent(group).map(|parent| at.cfs(parent).on_list().get() != 0);
    ensure(!listed || above.unwrap_or(true), "a queue is listed without its parent")
}

fn check_limbo<L: Layout>(at: At<'_, L>, state: &State, group: usize) -> Checked {
    let most = state.tasks.len() + 1;
    let keys = list::keys(at.limbo(state, group), most, |key| &state.tasks[&(key as u32 - 1)].node);
    let throttled = at.cfs(group).throttle_count().get() != 0;
    ensure(keys.is_empty() || throttled, "tasks wait in the limbo of a queue that may run")?;
    for key in &keys {
        let id = *key as u32 - 1;
        let task = &state.tasks[&id];
        ensure(task.place == Place::Limbo && task.group == group, "a task waits elsewhere")?;
        ensure(!task.kernel_thread, "a kernel thread is in limbo")?;
        let queued = state.ready[group].contains(&Entity::Task(id));
        ensure(!queued, "a task is in limbo and queued")?;
    }
    let waiting = |t: &&super::Task| t.group == group && t.place == Place::Limbo;
    let waiting = state.tasks.values().filter(waiting).count();
    ensure(waiting == keys.len(), "a task in limbo is on no limbo list")
}

/// A task is queued exactly if it says so.
fn check_tasks<L: Layout>(at: At<'_, L>, state: &State) -> Checked {
    for (&id, task) in &state.tasks {
        let there = state.ready[task.group].iter().filter(|&&e| e == Entity::Task(id)).count();
        ensure(there == usize::from(task.place == Place::Queued), "a task is queued wrongly")?;
    }
    ensure(state.online || state.tasks.is_empty(), "tasks are on a CPU that is off")?;
    let off = |group: usize| is_throttled(at.cfs(group));
    let throttled = (0..state.ready.len()).any(|group| at.exists(group) && off(group));
    ensure(state.online || !throttled, "a queue is throttled on a CPU that is off")
}

/// The path of `curr` or `h_curr` is the running task's.
fn check_path<L: Layout>(at: At<'_, L>, state: &State) -> Checked {
    let mut expected = vec![0; state.ready.len()];
    if let Some(id) = state.running {
        let mut entity = Entity::Task(id);
        for above in at.path(state.tasks[&id].group) {
            expected[above] = entity.word();
            entity = Entity::Group(above);
        }
    }
    for (group, expected) in expected.into_iter().enumerate() {
        if !at.exists(group) {
            continue;
        }
        let cfs = at.cfs(group);
        let marked = cfs.h_curr().unwrap_or_else(|| cfs.curr()).get();
        ensure(marked == expected, "what is marked as running is not the running task's path")?;
    }
    Ok(())
}

/// How much a queue owes.
fn check_debt<L: Layout>(at: At<'_, L>, state: &State, group: usize) -> Checked {
    let cfs = at.cfs(group);
    let debt = -cfs.runtime_remaining().get();
    let below = |task: &&super::Task| at.path(task.group).any(|above| above == group);
    let deferred = at.semantics() == Semantics::TasksDeferred;
    let mut kernel_threads = state.tasks.values().filter(below).map(|task| task.kernel_thread);
    if group == 0 || cfs.runtime_enabled().get() == 0 || deferred && kernel_threads.any(|is| is) {
        return Ok(());
    }
    let stay = state.tasks.values().filter(below).map(|task| task.behaviour.stay).max();
    let stays = stay.unwrap_or(0).saturating_mul(state.sent[group] + 1);
    let noticed = at.control.settings.tick.saturating_add(if deferred { stays } else { 0 });
    ensure(debt <= noticed as i64, "it overran its limit by more than a tick")
}

fn check_pool<L: Layout>(at: At<'_, L>, group: usize, local: i64, used: u64) -> Checked {
    let pool = at.pool(group);
    let runtime = pool.runtime.get();
    let added = pool.ledger.minted + pool.ledger.given;
    if is_limited(&pool) {
        ensure(pool.ledger.granted <= pool::most(&pool), "more was granted than quota and burst")?;
        ensure(pool.runtime_snap.get() <= pool::most(&pool), "a refill exceeds quota and burst")?;
    }
    ensure(runtime + local == added - used as i64, "runtime was lost or made of nothing")?;
    ensure(runtime >= 0, "the pool owes")?;
    let most = at.control.model.cpus().count() + 1;
    let keys = list::keys(&pool.throttled, most, |key| throttle::node(at, group, key));
    for &key in &keys {
        let cfs = L::tg_cfs_rq(at.tg(group), CpuId::new(key as u32 - 1)).plain();
        ensure(cfs.throttled().get() & THROTTLED != 0, "the list has a queue that may run")?;
    }
    let listed = |cpu: &CpuId| is_throttled(L::tg_cfs_rq(at.tg(group), *cpu).plain());
    let throttled = at.control.model.cpus().filter(listed).count();
    ensure(keys.len() == throttled, "the list of throttled queues lacks one")?;
    let starts = pool.period_active.get() != 0 || keys.is_empty();
    ensure(starts, "a queue is throttled and no timer will end it")
}
