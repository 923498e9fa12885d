//! [`check`]: what must hold in every state between two phases.

use super::cpu::{Player, Stage};
use super::queue::NICE_0;
use crate::layout::{Held, Layout};
use crate::model;
use crate::structs::{CfsRqFields, SeFields, VirtualTime};
use corelocal::CpuId;
use crossbeam_epoch::{self as epoch, Guard};

/// Checks, beside the model's invariants:
///
/// * a group's throttle count on a CPU is the number of throttled ones among itself and those above;
/// * a queue's weight and entities are those of the groups below that are queued, and of its tasks;
///   so are the weights of its virtual time;
/// * its count of tasks is that of the tasks and groups below it that are not throttled;
/// * a group's load is what its queues have reported;
/// * the pool of a group holds its quota less what was granted: no runtime is lost, and none is
///   granted beyond the quota.
///
/// `awake`: whether the tasks are.
///
/// # Errors
///
/// What does not hold first, and where.
pub(super) fn check<L: Layout>(
    stage: &Stage<'_, L>,
    players: &[Player<'_, L>],
    awake: bool,
) -> Result<(), String> {
    let guard = &epoch::pin();
    model::check(stage.model)?;
    for player in players {
        let mut tasks = vec![0_u32; stage.model.groups().len()];
        if awake {
            player.tasks().iter().for_each(|&leaf| tasks[leaf as usize] += 1);
        }
        check_cpu(stage, guard, player.cpu(), &tasks)?;
    }
    for index in 1..stage.model.groups().len() {
        let tg = stage.model.groups().get(index, guard).expect("a group stays");
        let told: u64 = stage
            .model
            .cpus()
            .map(|cpu| L::tg_cfs_rq(tg, cpu).plain().tg_load_avg_contrib().get())
            .fold(0, u64::wrapping_add);
        let load = tg.load_avg.0.get();
        same(told, load, || format!("{} group {index}: load that queues reported", L::NAME))?;
    }
    for pool in stage.pools.iter() {
        let tg = stage.model.groups().get(pool.group as usize, guard).expect("a group");
        let (state, runtime) = (pool.lock(), tg.bandwidth.runtime.get());
        let what = || format!("{} group {}: the pool", L::NAME, pool.group);
        same(state.quota - state.granted, runtime, what)?;
        if runtime < 0 {
            return Err(format!("{} is overdrawn: {runtime}", what()));
        }
    }
    Ok(())
}

fn same<T: PartialEq + core::fmt::Display>(
    expected: T,
    found: T,
    what: impl FnOnce() -> String,
) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{}: {found}, and by its parts {expected}", what()))
}

fn check_cpu<L: Layout>(
    stage: &Stage<'_, L>,
    guard: &Guard,
    cpu: CpuId,
    tasks: &[u32],
) -> Result<(), String> {
    let groups = stage.model.groups();
    let tg = |index: usize| groups.get(index, guard).expect("a group stays");
    let queue = |index: usize| L::tg_cfs_rq(tg(index), cpu).plain();
    let mut entities = tasks.to_vec();
    let mut weight: Vec<u64> = tasks.iter().map(|&tasks| u64::from(tasks) * NICE_0).collect();
    let mut weights: Vec<u64> = weight.iter().map(|weight| weight >> 10).collect();
    let mut below = tasks.to_vec();
    // Backwards: a parent stands before its children.
    for index in (1..groups.len()).rev() {
        let parent = tg(index).links.parent.get() as usize;
        let se = L::tg_se(tg(index), cpu).expect("the entity of a group").plain();
        if se.on_rq().get() != 0 {
            entities[parent] += 1;
            weight[parent] += se.load().weight.get();
            weights[parent] += se.load().weight.get() >> 10;
        }
        if queue(index).throttled().get() == 0 {
            below[parent] += below[index];
        }
    }
    for index in 0..groups.len() {
        let of = queue(index);
        let what = |what: &str| format!("{} group {index} CPU {cpu}: {what}", L::NAME);
        same(entities[index], of.nr_queued().get(), || what("entities"))?;
        same(weight[index], of.load().weight.get(), || what("weight"))?;
        same(weights[index], of.weights().get(), || what("weights of virtual time"))?;
        same(below[index], of.h_nr_queued().get(), || what("tasks"))?;
        same(below[index], of.h_nr_runnable().get(), || what("runnable tasks"))?;
        let (mut at, mut throttled) = (index, 0);
        loop {
            throttled += i32::from(queue(at).throttled().get() != 0);
            match tg(at).links.parent.get() as usize {
                above if above < groups.len() => at = above,
                _ => break,
            }
        }
        same(throttled, of.throttle_count().get(), || what("throttle count"))?;
    }
    Ok(())
}

/// A sum of what the steps left in all queues and entities.
pub(super) fn left<L: Layout>(stage: &Stage<'_, L>) -> u64 {
    let guard = &epoch::pin();
    let mut sum = 0_u64;
    for tg in stage.model.groups().iter(guard) {
        for cpu in stage.model.cpus() {
            let of = L::tg_cfs_rq(tg, cpu).plain();
            let entity = L::tg_se(tg, cpu).map(Held::plain);
            let of_entity = entity.map_or(0, |se| {
                se.avg().load_avg.get() ^ se.load().weight.get() ^ se.vruntime().get()
            });
            for word in [
                of.avg().load_sum.get(),
                of.tg_load_avg_contrib().get(),
                of.h_load().get(),
                of.runtime_remaining().get() as u64,
                of.throttled_clock_pelt_time().get(),
                of.on_list().get() as u64,
                of_entity,
            ] {
                sum = sum.rotate_left(7) ^ word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
    }
    sum
}
