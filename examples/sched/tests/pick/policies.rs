//! Check 8: the five policies against their closed forms.

use crate::holds;
use proptest::prelude::*;
use sched::load::shares::NICE_MINUS_20 as MOST;
use sched::pick::entity::NICE_0;
use sched::pick::policy::{CgroupMode, Situation, weight};
use sched::pick::{Features, Flat, Groups, Picker, ROOT, World};

type Policy = fn(CgroupMode, Situation) -> u64;

fn situations() -> impl Strategy<Value = Situation> {
    let numbers = (2_u64..(1 << 27), 1_u64..(1 << 40), 0_u64..(1 << 40), 1_u64..512, 0_u64..2000);
    numbers.prop_map(|(shares, load, elsewhere, cpus, runnable)| Situation {
        shares,
        load,
        total: load + elsewhere,
        cpus,
        runnable,
    })
}

/// What holds between the policies whatever the situation.
fn check(weight: Policy, at: Situation) -> Result<(), String> {
    let of = |mode| weight(mode, at);
    let (one, many) = (Situation { runnable: 1, ..at }, Situation { runnable: at.cpus, ..at });
    let alone = Situation { total: at.load, ..at };
    let bounds = |mode, times: u64| (2..=(times * at.shares).max(2)).contains(&of(mode));
    let facts = [
        (of(CgroupMode::Up) == at.shares, "up is the whole weight"),
        (weight(CgroupMode::Smp, alone) == at.shares, "smp with all load here is the whole weight"),
        (bounds(CgroupMode::Smp, 1), "smp is between 2 and the whole weight"),
        (
            weight(CgroupMode::Concur, one) == weight(CgroupMode::Smp, one),
            "concur of one task is smp",
        ),
        (
            weight(CgroupMode::Concur, many) == weight(CgroupMode::Tasks, many),
            "concur of as many tasks as CPUs is tasks",
        ),
        (bounds(CgroupMode::Concur, at.runnable.clamp(1, at.cpus)), "concur is at most n weights"),
        (bounds(CgroupMode::Tasks, at.runnable.max(1)), "tasks is at most M weights"),
        (of(CgroupMode::Max) <= MOST.max(2), "max is at most nice -20"),
        (
            of(CgroupMode::Max) == weight(CgroupMode::Concur, many).min(MOST),
            "max is concur with every CPU busy, clipped",
        ),
        (
            at.runnable < at.cpus || of(CgroupMode::Concur) == weight(CgroupMode::Concur, many),
            "concur counts no more than the CPUs",
        ),
    ];
    match facts.iter().find(|fact| !fact.0) {
        None => Ok(()),
        Some((_, fact)) => Err(format!("it does not hold that {fact}")),
    }
}

#[test]
fn the_policies_are_to_each_other_as_their_closed_forms_say() {
    holds(1000, situations(), |at| check(weight, at));
}

#[test]
fn a_policy_that_counts_more_tasks_than_cpus_is_noticed() {
    let wrong: Policy = |mode, at| match mode {
        CgroupMode::Concur => weight(CgroupMode::Tasks, at),
        mode => weight(mode, at),
    };
    crate::fails(situations(), |at| check(wrong, at));
}

/// The parts of four equal tasks in a group, the first alone on its CPU.
fn one_and_three(mode: CgroupMode) -> [u64; 4] {
    let mut groups = Groups::new(mode, 2);
    let group = groups.add(ROOT, NICE_0);
    let mut world = World::new(groups);
    let tasks = [(); 4].map(|()| world.add_task(group, NICE_0, None));
    let mut cpus = [(); 2].map(|()| <Flat as Picker>::new(2, Features::default()));
    let cpu = |task: u32| usize::from(task > 0);
    tasks.iter().for_each(|&task| cpus[cpu(task)].enqueue(0, task, &mut world));
    // The weights on a CPU are renewed when something happens there.
    cpus.iter_mut().for_each(|cpu| cpu.group_changed(0, group, &mut world));
    tasks.map(|task| cpus[cpu(task)].h_load(task, &world))
}

#[test]
fn four_tasks_on_two_cpus_split_as_each_policy_promises() {
    let check = |mode, expected: [u64; 4]| {
        let parts = one_and_three(mode);
        let close = parts.iter().zip(expected).all(|(part, right)| part.abs_diff(right) <= 2);
        assert!(close, "{mode:?}: {parts:?}, not {expected:?}");
    };
    let (whole, quarter) = (NICE_0, NICE_0 / 4);
    check(CgroupMode::Smp, [quarter; 4]);
    check(CgroupMode::Up, [whole, whole / 3, whole / 3, whole / 3]);
    // Four tasks keep both CPUs busy: twice smp. Each task one whole weight: four times.
    check(CgroupMode::Concur, [2 * quarter; 4]);
    check(CgroupMode::Max, [2 * quarter; 4]);
    check(CgroupMode::Tasks, [4 * quarter; 4]);
}
