//! Check 5: at every millisecond nobody has got more than a few slices too much or too little.

use crate::machine::Shape;
use crate::wrong::EverybodyEligible;
use crate::{fails, holds};
use proptest::collection::vec;
use proptest::prelude::*;
use sched::pick::entity::{NICE_0, SLICE, TICK};
use sched::pick::policy::CgroupMode;
use sched::pick::sim::{Event, Options, Sim, Timed};
use sched::pick::{Flat, Hierarchical, Picker};

/// Spinners in a tree, with weights that differ up to so many times a level.
pub(crate) fn shapes(groups: usize, tasks: usize, differ: u64) -> impl Strategy<Value = Shape> {
    let weight = move || (1..=differ).prop_map(|times| times * NICE_0 / 4);
    let groups = vec((any::<u32>(), weight()), 1..=groups);
    let tasks = vec((any::<u32>(), weight(), Just(None)), 2..=tasks);
    (groups, tasks).prop_map(|(groups, tasks)| Shape { groups, tasks })
}

/// Levels of queues above the deepest task.
fn depth(shape: &Shape) -> u64 {
    let world = shape.world(CgroupMode::Up, 1);
    let depths =
        (0..world.tasks() as u32).map(|task| world.groups.of(world.task(task).group).depth);
    u64::from(depths.max().unwrap_or(0))
}

/// A simulation in which all tasks spin from the start. `fresh`: the weights of all are computed anew
/// once all are there.
pub(crate) fn spinning<P: Picker>(shape: &Shape, fresh: bool) -> Sim<P> {
    let options = Options { reckons_due: true, ..Options::default() };
    let world = shape.world(CgroupMode::Up, 1);
    let mut sim = Sim::new(world, 1, options);
    let tasks = || 0..shape.tasks.len() as u32;
    sim.feed(tasks().map(|task| (0, Event::Wake { task, cpu: Some(0), work: None })));
    if fresh {
        let weight = |task| sim.world.task(task).weight;
        let renew = |task| (0, Event::SetWeight { task, weight: weight(task) });
        let renew: Vec<Timed> = tasks().map(renew).collect();
        sim.feed(renew);
    }
    sim
}

/// The worst error in slices within so many ticks.
fn worst<P: Picker>(shape: &Shape, fresh: bool, ticks: u64) -> f64 {
    let mut sim = spinning::<P>(shape, fresh);
    let mut worst = 0.0_f64;
    for tick in 1..=ticks {
        sim.run(tick * TICK, &mut ());
        for task in 0..sim.world.tasks() as u32 {
            let account = sim.record.of(task);
            worst = worst.max((account.service as f64 - account.due).abs() / SLICE as f64);
        }
    }
    worst
}

fn within<P: Picker>(shape: Shape, slices: impl Fn(u64) -> u64) -> Result<(), String> {
    let (worst, most) = (worst::<P>(&shape, true, 1500), slices(depth(&shape)));
    match worst <= most as f64 {
        true => Ok(()),
        false => Err(format!("{worst} slices off, at most {most} are allowed")),
    }
}

#[test]
fn flat_service_is_within_two_slices_of_the_ideal() {
    holds(24, shapes(6, 12, 16), |shape| within::<Flat>(shape, |_| 2));
}

#[test]
fn hierarchical_service_is_within_a_slice_a_level_and_one_of_the_ideal() {
    holds(24, shapes(6, 12, 16), |shape| within::<Hierarchical>(shape, |depth| depth + 1));
}

#[test]
fn service_that_runs_ahead_is_noticed() {
    fails(shapes(6, 12, 16), |shape| within::<Flat<EverybodyEligible>>(shape, |_| 2));
    let most = |depth| depth + 1;
    fails(shapes(6, 12, 16), |shape| within::<Hierarchical<EverybodyEligible>>(shape, most));
}

#[test]
fn weights_from_before_the_others_came_cost_the_flat_pick_more_than_two_slices() {
    // Tasks that wake one after the other keep weights of when they were fewer until they have run
    // once: that is how the flat pick is specified, and why the bound is for fresh weights.
    let times = |times: u64| times * NICE_0 / 4;
    let groups = vec![(0, times(1)), (1, times(1)), (1, times(16)), (0, times(15))];
    let weights = [(1, 4), (2, 2), (4, 7), (1, 16), (3, 14), (2, 16), (3, 12), (1, 10)];
    let tasks = weights.map(|(group, weight)| (group, times(weight), None));
    let shape = Shape { groups, tasks: tasks.to_vec() };
    assert!(worst::<Flat>(&shape, true, 300) <= 2.0);
    let stale = worst::<Flat>(&shape, false, 300);
    assert!((2.0..6.0).contains(&stale), "{stale}");
    assert!(worst::<Hierarchical>(&shape, false, 300) <= 4.0);
}
