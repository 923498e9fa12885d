//! A quick run of the history checker; `src/bin/history.rs` is the long one.
#![cfg(not(all(corelocal_loom, feature = "loom")))]

use corelocal::priority::Layout;
use corelocal::{ByCpu, Packed, Padded, Split};
use loom_tests::history::{Broken, ByHand, InVector, Order, Report, run};

const FINDS: u64 = 20_000;
const SEED: u64 = 1;

#[track_caller]
fn promises_hold<L: Layout>() -> Report {
    let report = run(InVector::<L>::new(), FINDS, SEED);
    assert_eq!(report.broken, Broken { a1: report.broken.a1, ..Broken::default() });
    assert!(report.finds >= FINDS && report.sets > FINDS / 10, "{report:?}");
    report
}

#[test]
fn a_layout_by_level_breaks_a_promise() {
    for report in [promises_hold::<Packed>(), promises_hold::<Padded>(), promises_hold::<Split>()] {
        assert!(report.broken.a1 > 0, "the adversary is too weak to have a falling CPU missed");
    }
}

#[test]
fn the_layout_by_cpu_breaks_a_promise_or_misses_a_cpu_that_falls() {
    for report in [promises_hold::<ByCpu<8>>(), promises_hold::<ByCpu>()] {
        assert_eq!(report.broken.a1, 0);
    }
}

#[test]
fn the_checker_has_no_teeth() {
    let right = run(ByHand::new(Order::EnterThenLeave), FINDS, SEED).broken;
    assert_eq!(right.promises(), 0, "{right:?}");
    let wrong = run(ByHand::new(Order::LeaveThenEnter), FINDS, SEED).broken;
    assert!(wrong.g3 > 0, "nobody noticed that the old level is left first: {wrong:?}");
    assert_eq!(wrong.promises(), wrong.g3, "{wrong:?}");
}

#[test]
fn a_seed_does_not_repeat_its_run() {
    let again = || run(InVector::<Packed>::new(), 2_000, 7);
    assert_eq!(again(), again());
    assert_ne!(again(), run(InVector::<Packed>::new(), 2_000, 8));
}
