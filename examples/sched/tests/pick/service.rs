//! Check 5: at every millisecond nobody has got more than a few slices too much or too little.

use crate::machine::Shape;
use crate::wrong::EverybodyEligible;
use crate::{fails, holds};
use proptest::collection::vec;
use proptest::prelude::*;
use sched::pick::entity::{NICE_0, SLICE, TICK};
use sched::pick::policy::Mode;
use sched::pick::sim::{Event, Options, Sim, Timed};
use sched::pick::{Flat, Hierarchical, Picker};

/// Spinners in a tree, with weights that differ up to sixteenfold a level.
pub(crate) fn shapes(groups: usize, tasks: usize) -> impl Strategy<Value = Shape> {
    let weight = || (1_u64..=16).prop_map(|times| times * NICE_0 / 4);
    let groups = vec((any::<u32>(), weight()), 1..=groups);
    let tasks = vec((any::<u32>(), weight(), Just(None)), 2..=tasks);
    (groups, tasks).prop_map(|(groups, tasks)| Shape { groups, tasks })
}

/// Levels of queues above the deepest task.
fn depth(shape: &Shape) -> u64 {
    let world = shape.world(Mode::Up, 1);
    let depths =
        (0..world.tasks() as u32).map(|task| world.groups.of(world.task(task).group).depth);
    u64::from(depths.max().unwrap_or(0))
}

/// A simulation in which all tasks spin from the start.
pub(crate) fn spinning<P: Picker>(shape: &Shape, fresh: bool) -> Sim<P> {
    let options = Options { reckons_due: true, ..Options::default() };
    let world = shape.world(Mode::Up, 1);
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

/// The worst error in slices after `ticks`.
fn worst<P: Picker>(shape: &Shape, ticks: u64) -> f64 {
    let mut sim = spinning::<P>(shape, true);
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
    let (worst, most) = (worst::<P>(&shape, 1500), slices(depth(&shape)));
    match worst <= most as f64 {
        true => Ok(()),
        false => Err(format!("{worst} slices off, at most {most} are allowed")),
    }
}

#[test]
fn flat_service_is_within_two_slices_of_the_ideal() {
    holds(24, shapes(6, 12), |shape| within::<Flat>(shape, |_| 2));
}

#[test]
fn hierarchical_service_is_within_a_slice_a_level_and_one_of_the_ideal() {
    holds(24, shapes(6, 12), |shape| within::<Hierarchical>(shape, |depth| depth + 1));
}

#[test]
fn service_that_runs_ahead_is_noticed() {
    fails(shapes(6, 12), |shape| within::<Flat<EverybodyEligible>>(shape, |_| 2));
    let most = |depth| depth + 1;
    fails(shapes(6, 12), |shape| within::<Hierarchical<EverybodyEligible>>(shape, most));
}
