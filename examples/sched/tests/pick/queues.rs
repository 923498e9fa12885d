//! Checks 1, 2 and 7: someone is eligible, the pick is, the tree and looking at everyone agree; the
//! weighted lags sum to 0; and all of it while weights change and tasks sleep, wake, visit other CPUs
//! and are throttled.

use crate::machine::{Machine, Shape, Step, shapes, steps};
use crate::wrong::{ChargeForgetsSum, EverybodyEligible, LeavingForgetsSum, StaleMinimum};
use crate::{fails, holds};
use sched::pick::{Flat, Hierarchical, Picker};

type Input = (Shape, Vec<(u64, Step)>);

fn check<P: Picker>((shape, steps): Input) -> Result<(), String> {
    let mut machine = Machine::<P>::new(&shape);
    machine.wake_all();
    for (at, &(after, step)) in steps.iter().enumerate() {
        machine.step(after, step);
        machine.check().map_err(|error| format!("step {at}, {step:?}: {error}"))?;
    }
    Ok(())
}

#[test]
fn the_tree_picks_who_looking_at_everyone_picks_and_lags_sum_to_nothing() {
    holds(256, (shapes(), steps(120)), check::<Hierarchical>);
    holds(256, (shapes(), steps(120)), check::<Flat>);
}

#[test]
fn a_stale_minimum_of_a_subtree_is_noticed() {
    fails((shapes(), steps(120)), check::<Hierarchical<StaleMinimum>>);
    fails((shapes(), steps(120)), check::<Flat<StaleMinimum>>);
}

#[test]
fn a_pick_that_does_not_ask_for_eligibility_is_noticed() {
    fails((shapes(), steps(120)), check::<Hierarchical<EverybodyEligible>>);
    fails((shapes(), steps(120)), check::<Flat<EverybodyEligible>>);
}

#[test]
fn a_sum_that_is_not_charged_is_noticed() {
    fails((shapes(), steps(120)), check::<Hierarchical<ChargeForgetsSum>>);
    fails((shapes(), steps(120)), check::<Flat<ChargeForgetsSum>>);
}

#[test]
fn a_sum_that_keeps_who_left_is_noticed() {
    fails((shapes(), steps(120)), check::<Hierarchical<LeavingForgetsSum>>);
    fails((shapes(), steps(120)), check::<Flat<LeavingForgetsSum>>);
}
