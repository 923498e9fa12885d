//! Check 4: the parts of a group's tasks sum to the group's.

use crate::machine::{Machine, Shape, Step, shapes, steps};
use crate::wrong::LevelForgotten;
use crate::{fails, holds};
use sched::pick::entity::NICE_0;
use sched::pick::policy::CgroupMode;
use sched::pick::rules::Rules;
use sched::pick::{Features, Flat, Picker, ROOT};

type Input = (Shape, Vec<(u64, Step)>);

/// Each level rounds a task's part down by less than a unit, and the floor of 2 adds at most 2; the
/// weight of the uppermost group multiplies what the levels below rounded.
fn check<R: Rules>((shape, steps): Input) -> Result<(), String> {
    let mut machine = Machine::<Flat<R>>::new(&shape);
    machine.wake_all();
    for (after, step) in steps {
        machine.step(after, step);
        let (flat, world) = (&machine.picker, &machine.world);
        for group in 1..world.groups.len() as u32 {
            let below = |&task: &u32| {
                let of = world.task(task).group;
                world.groups.upward(of).any(|above| above == group)
            };
            let queued = |&task: &u32| {
                flat.queue()
                    .slots()
                    .any(|slot| flat.queue().who(slot) == sched::pick::queue::Who::Task(task))
            };
            let tasks: Vec<u32> = (0..world.tasks() as u32).filter(below).filter(queued).collect();
            let parts: Vec<u64> = tasks.iter().map(|&task| flat.h_load(task, world)).collect();
            let (sum, whole) = (parts.iter().sum::<u64>(), flat.group_load(group, world));
            let depth = tasks.iter().map(|&task| world.groups.of(world.task(task).group).depth);
            let top = world.groups.upward(group).last().expect("it is in one");
            let times = world.groups.of(top).shares.div_ceil(NICE_0);
            let units = u64::from(depth.max().unwrap_or(0) + 1) * tasks.len() as u64 * times;
            let floored = parts.iter().any(|&part| part < 1000 * times);
            let units = if floored { 2 * units } else { units };
            if sum.abs_diff(whole) > units {
                return Err(format!("{tasks:?} have {parts:?}, their group {group} has {whole}"));
            }
        }
    }
    Ok(())
}

#[test]
fn the_parts_of_a_groups_tasks_sum_to_the_groups() {
    holds(256, (shapes(), steps(40)), check::<sched::pick::rules::Sound>);
}

#[test]
fn a_level_that_is_not_divided_is_noticed() {
    fails((shapes(), steps(40)), check::<LevelForgotten>);
}

/// A chain of groups with two tasks each in the last, one of them light; its parts with whole units
/// and with more bits, and the true one.
fn light_part(shares: u64, depth: u32) -> (f64, f64, f64) {
    let groups = (0..depth).flat_map(|level| [(2 * level, shares), (2 * level, NICE_0)]);
    let groups: Vec<(u32, u64)> = groups
        .map(|(parent, shares)| (if parent == 0 { ROOT } else { parent - 1 }, shares))
        .collect();
    let mut tasks = vec![(2 * depth - 1, NICE_0, None), (2 * depth - 1, NICE_0, None)];
    // The other group of each level has a task, so that the light one's fraction is not 1.
    tasks.extend((1..=depth).map(|level| (2 * level, NICE_0, None)));
    let shape = Shape { groups, tasks };
    let part = |precise| {
        let mut world = shape.world(CgroupMode::Up, 1);
        let mut flat =
            <Flat as Picker>::new(world.groups.len(), Features { precise, ..<_>::default() });
        (0..world.tasks() as u32).for_each(|task| flat.enqueue(0, task, &mut world));
        flat.h_load(0, &world) as f64
    };
    let fraction = shares as f64 / (shares + NICE_0) as f64;
    // The uppermost group's weight counts in full.
    let truth =
        NICE_0 as f64 / 2.0 * fraction.powi(depth as i32 - 1) * shares as f64 / NICE_0 as f64;
    (part(false), part(true), truth)
}

#[test]
fn small_parts_lose_more_than_a_thousandth_a_level_and_more_bits_keep_it() {
    // Far above 1000 units whole units are good enough.
    let (whole, precise, truth) = light_part(NICE_0, 3);
    assert!((whole / truth - 1.0).abs() < 1e-4 && (precise / truth - 1.0).abs() < 1e-4);
    // Some parts of some hundred units, whose truncation is seen.
    let mut worst = (0.0_f64, 0.0_f64);
    for shares in (100_000..140_000).step_by(1_000) {
        let (whole, precise, truth) = light_part(shares, 4);
        assert!((8.0..1000.0).contains(&truth), "{truth}");
        assert!((precise - truth).abs() <= 0.5 + 4.0 / 1024.0, "{precise} for {truth}");
        worst = (worst.0.max(truth - whole), worst.1.max((1.0 - whole / truth).abs()));
    }
    assert!(worst.0 <= 5.0 && worst.1 > 0.004, "{worst:?}");
}
