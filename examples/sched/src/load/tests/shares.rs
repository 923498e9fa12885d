//! The five policies against their closed forms, and check 8 of the flat pick: four equal tasks on
//! two CPUs.

use super::*;
use crate::load::shares::{MIN_SHARES, NICE_MINUS_20};
use proptest::prelude::*;

/// One ordinary task.
const ONE: u64 = 1 << 20;

/// A group of `tasks` equal tasks in a steady state: what the policy is told on a CPU that has
/// `here` of them.
fn steady(shares: u64, here: u64, tasks: u64, cpus: u64) -> GroupLoad {
    GroupLoad {
        shares,
        queue_weight: here * ONE,
        queue_load: here * 1024,
        contrib: here * 1024,
        group_load: tasks * 1024,
        group_runnable: tasks * 1024,
        cpus,
    }
}

#[test]
fn four_equal_tasks_on_two_cpus_split_one_to_three() {
    let of = |mode: CgroupMode, here| mode.shares(&steady(ONE, here, 4, 2));
    let both = |mode| (of(mode, 1), of(mode, 3));
    assert_eq!(both(CgroupMode::Up), (ONE, ONE), "W to one task, W to three: W/3 each");
    assert_eq!(both(CgroupMode::Smp), (ONE / 4, ONE * 3 / 4), "W/4 a task");
    assert_eq!(both(CgroupMode::Concur), (ONE / 2, ONE * 3 / 2), "two CPUs are active");
    assert_eq!(both(CgroupMode::Max), (ONE / 2, ONE * 3 / 2), "two CPUs are allowed");
    assert_eq!(both(CgroupMode::Tasks), (ONE, ONE * 3), "W a task");
}

#[test]
fn the_names_are_the_kernels_and_nothing_else_is_one() {
    let names: Vec<&str> = CgroupMode::ALL.iter().map(|mode| mode.name()).collect();
    assert_eq!(names, ["up", "smp", "concur", "max", "tasks"]);
    for mode in CgroupMode::ALL {
        assert_eq!(mode.name().parse(), Ok(mode));
    }
    let said = "flat".parse::<CgroupMode>().unwrap_err().to_string();
    assert_eq!(said, r#""flat" is none of up, smp, concur, max, tasks"#);
    assert_eq!(CgroupMode::default(), CgroupMode::Concur);
}

fn any_load() -> impl Strategy<Value = GroupLoad> {
    let load = prop_oneof![Just(0), 0_u64..10_000, 0_u64..100_000_000];
    let shares = (2_u64..=262_144).prop_map(|shares| shares << 10);
    let cpus = 1_u64..=480;
    (shares, 0_u64..1 << 32, load.clone(), load.clone(), load.clone(), load, cpus).prop_map(
        |(shares, queue_weight, queue_load, contrib, others, group_runnable, cpus)| GroupLoad {
            shares,
            queue_weight,
            queue_load,
            contrib,
            group_load: contrib + others,
            group_runnable,
            cpus,
        },
    )
}

/// The closed form, in floating point.
fn closed_form(mode: CgroupMode, load: &GroupLoad) -> f64 {
    let down = if load.queue_weight == 0 { 0.0 } else { (load.queue_weight >> 10).max(2) as f64 };
    let queue = down.max(load.queue_load as f64);
    let total = load.group_load as f64 - load.contrib as f64 + queue;
    let fraction = if total == 0.0 { 0.0 } else { queue / total };
    let tasks = ((load.group_runnable >> 10) as f64).max(1.0);
    let (s, cpus) = (load.shares as f64, load.cpus as f64);
    let split = |n: f64, most: f64| (n * s * fraction).clamp(2.0, most);
    match mode {
        CgroupMode::Up => s,
        CgroupMode::Smp => split(1.0, s),
        CgroupMode::Concur => split(tasks.min(cpus), tasks.min(cpus) * s),
        CgroupMode::Max => split(cpus, NICE_MINUS_20 as f64),
        CgroupMode::Tasks => split(tasks, tasks * s),
    }
}

proptest! {
    #![proptest_config(super::config(256))]

    #[test]
    fn every_policy_is_its_closed_form_rounded_down(load in any_load()) {
        for mode in CgroupMode::ALL {
            let (shares, exact) = (mode.shares(&load) as f64, closed_form(mode, &load));
            let close = (shares - exact).abs() <= 1.0 + exact * 1e-12;
            prop_assert!(close, "{mode}: {shares} and {exact} of {load:?}");
            prop_assert!(mode.shares(&load) >= MIN_SHARES);
        }
    }

    #[test]
    fn concur_is_smp_with_one_task_and_as_many_times_as_cpus_with_enough(load in any_load()) {
        let one = GroupLoad { group_runnable: 1024, ..load };
        prop_assert_eq!(CgroupMode::Concur.shares(&one), CgroupMode::Smp.shares(&one));
        let many = GroupLoad { group_runnable: load.cpus * 1024, ..load };
        let (concur, smp) = (CgroupMode::Concur.shares(&many), CgroupMode::Smp.shares(&many));
        // Rounded once instead of for each CPU; the least weight is not multiplied.
        prop_assert!(concur <= load.cpus * (smp + 1) && concur >= load.cpus * smp || smp == MIN_SHARES);
    }

    /// Tasks of one group in a steady state: what each gets of its group.
    #[test]
    fn a_task_gets_its_part_of_the_group(shares in 2_u64..=262_144, here in 1_u64..50, more in 0_u64..500, cpus in 2_u64..64) {
        let tasks = here + more;
        let load = steady(shares << 10, here, tasks, cpus);
        let each = |mode: CgroupMode| mode.shares(&load) as f64 / here as f64;
        let s = (shares << 10) as f64;
        let near = |a: f64, b: f64| (a - b).abs() <= 1.0_f64.max(2.0 / here as f64);
        prop_assert!(near(each(CgroupMode::Up), s / here as f64));
        prop_assert!(near(each(CgroupMode::Smp), s / tasks as f64));
        prop_assert!(near(each(CgroupMode::Tasks), s));
        let concur = tasks.min(cpus) as f64 * s / tasks as f64;
        prop_assert!(near(each(CgroupMode::Concur), concur));
    }
}
