//! Check 6: in the long run everyone has got the product of the fractions above, whichever the pick.

use crate::machine::Shape;
use crate::service::{shapes, spinning};
use crate::wrong::{EveryGroupNice0, StaleWeight};
use crate::{fails, holds};
use sched::pick::entity::SLICE;
use sched::pick::policy::CgroupMode;
use sched::pick::sim::due::parts;
use sched::pick::{Flat, Hierarchical, Picker};

/// After 300 slices of who has the least: service within 1 % of the part.
fn check<P: Picker>(shape: Shape) -> Result<(), String> {
    let world = shape.world(CgroupMode::Up, 1);
    let parts = parts(&world, &[(0..world.tasks() as u32).collect()]);
    let least = parts.iter().map(|&(_, part)| part).fold(1.0, f64::min);
    let end = (300.0 / least * SLICE as f64) as u64;
    let mut sim = spinning::<P>(&shape, false);
    sim.run(end, &mut ());
    for (task, part) in parts {
        let got = sim.record.of(task).service as f64 / end as f64;
        if (got / part - 1.0).abs() > 0.01 {
            return Err(format!("task {task} got {got} of the CPU where {part} is its part"));
        }
    }
    Ok(())
}

#[test]
fn in_the_long_run_everyone_gets_the_product_of_the_fractions() {
    holds(12, shapes(4, 6, 5), check::<Flat>);
    holds(12, shapes(4, 6, 5), check::<Hierarchical>);
}

#[test]
fn weights_that_are_never_renewed_are_noticed() {
    fails(shapes(4, 6, 5), check::<Flat<StaleWeight>>);
}

#[test]
fn groups_that_do_not_take_their_weight_are_noticed() {
    fails(shapes(4, 6, 5), check::<Flat<EveryGroupNice0>>);
    fails(shapes(4, 6, 5), check::<Hierarchical<EveryGroupNice0>>);
}
