//! Random sequences on made-up CPUs, against a deque a lane.

use crate::pinned;
use crate::rings::{Step, run};
use proptest::prelude::*;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..=140_usize).prop_map(Step::Write),
        4 => (0..12_usize).prop_map(Step::Read),
        2 => Just(Step::GiveBack),
        1 => Just(Step::Skip),
        1 => Just(Step::Renew),
        2 => prop_oneof![Just(None), (0..4_u32).prop_map(Some)].prop_map(Step::Move),
    ]
}

proptest! {
    #[test]
    fn a_ring_forgets_or_repeats_a_record(
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        pinned(|| run(&steps));
    }
}
