//! `testing::with` over every operation: what happens at a point, in one thread of four, leaves an
//! exact end state, and cuts off at the points that lists, stacks and copies alone have.

use corelocal::testing::{self, Config, Disturbance};
use rseq_tests::churn;
use rseq_tests::implementation::{Entries, sections};
use rseq_tests::work::{Kind, Work};
use std::time::Duration;

const WHAT: [Disturbance; 5] = [
    Disturbance::Delay(2_000),
    Disturbance::Signal,
    Disturbance::Yield,
    Disturbance::Sleep(Duration::from_micros(20)),
    Disturbance::Migrate,
];

/// Of each thread, under each disturbance at each point.
const STEPS: usize = 8;

#[test]
fn an_operation_disturbed_at_any_point_leaves_an_exact_end_state() {
    let entries = Entries::new();
    for kind in Kind::ALL {
        let mut aborts = [0; 9];
        for (point, aborts) in aborts.iter_mut().enumerate() {
            let before = churn::counts().0;
            for what in WHAT {
                let work = Work::new(entries, kind, churn::cpus());
                std::thread::scope(|scope| {
                    for thread in 0..4 {
                        let work = &work;
                        scope.spawn(move || {
                            let config = Config::new();
                            let config = if thread == 0 { config.at(point, what) } else { config };
                            testing::with(config, || (0..STEPS).for_each(|_| work.step()));
                        });
                    }
                });
                work.check()
                    .unwrap_or_else(|found| panic!("{kind:?}, {what:?} at {point}: {found}"));
            }
            *aborts = churn::counts().0 - before;
        }
        eprintln!("{kind:?}: cut off at points 0 to 8: {aborts:?}");
        if sections().is_some() {
            // That the disturbances do cut off: most of them, since one that comes late finds the
            // section over. A step in eight finds its guard closed, and does not get beyond point 2.
            let least = (STEPS * (WHAT.len() - 1)) as u64;
            assert!(aborts[1..3].iter().all(|aborts| *aborts >= least / 2), "{kind:?}: {aborts:?}");
            assert!(aborts[3].min(aborts[7]) >= least / 8, "{kind:?}: {aborts:?}");
        }
    }
}
