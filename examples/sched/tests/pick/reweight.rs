//! Check 3: a new weight keeps `lag * weight` and the queue's V, of who runs and of who waits.

use crate::wrong::LagNotScaled;
use crate::{fails, holds};
use proptest::collection::vec;
use proptest::prelude::*;
use sched::pick::entity::Entity;
use sched::pick::queue::{Queue, Who};
use sched::pick::rules::{Rules, Sound};

/// Weights and slices; how often who is picked runs for how long; whose weight becomes what.
type Input = (Vec<(u64, u64)>, Vec<u64>, Vec<(usize, u64)>);

fn inputs() -> impl Strategy<Value = Input> {
    let weight = || prop_oneof![2_u64..2000, 2_u64..(1 << 27)];
    let slice = 100_000_u64..10_000_000;
    let runs = vec(1_u64..4_000_000, 1..40);
    (vec((weight(), slice), 1..12), runs, vec((any::<usize>(), weight()), 1..8))
}

fn check<R: Rules>((entities, runs, changes): Input) -> Result<(), String> {
    let mut queue = Queue::<R>::default();
    for (task, &(weight, slice)) in (0..).zip(&entities) {
        queue.join(Who::Task(task), Entity::new(weight, slice));
    }
    for ns in runs {
        queue.put_current();
        let slot = queue.pick().ok_or("nobody is eligible")?;
        queue.set_current(slot);
        queue.charge(ns);
    }
    for (at, new) in changes {
        let slot = (at % entities.len()) as u32;
        let state = |queue: &Queue<R>| {
            let entity = queue.entity(slot);
            let (average, weight) = (queue.average(), i128::from(entity.weight));
            (average, weight, i128::from(average - entity.vruntime) * weight)
        };
        let before = state(&queue);
        queue.reweight(slot, new);
        let after = state(&queue);
        if (after.0 - before.0).abs() > 2 {
            return Err(format!("V goes from {} to {}", before.0, after.0));
        }
        // Roundings: of V before and after, and of the new distance.
        if (after.2 - before.2).abs() > before.1 + 2 * after.1 {
            return Err(format!("what is owed goes from {} to {}", before.2, after.2));
        }
    }
    Ok(())
}

#[test]
fn a_new_weight_keeps_what_is_owed_and_the_virtual_time() {
    holds(256, inputs(), check::<Sound>);
}

#[test]
fn a_lag_that_is_not_scaled_is_noticed() {
    fails(inputs(), check::<LagNotScaled>);
}

#[test]
fn a_deadline_keeps_its_distance_in_service() {
    let mut queue = Queue::<Sound>::default();
    let heavy = queue.join(Who::Task(0), Entity::new(4 << 20, 4_000_000));
    queue.join(Who::Task(1), Entity::new(1 << 20, 4_000_000));
    let left = |queue: &Queue| queue.entity(heavy).deadline - queue.entity(heavy).vruntime;
    assert_eq!(left(&queue), 1_000_000);
    queue.reweight(heavy, 1 << 20);
    assert_eq!(left(&queue), 4_000_000);
}
