//! Waiting and run time by looking at all that was seen so far, for every span between two events.

use crate::random::{lines, text};
use crate::{PERF, REAL, by_name, schedule};
use proptest::prelude::*;
use sched::pick::sim::recorded::Seen;
use sched::recorded::Schedule;
use std::collections::{BTreeMap, BTreeSet};

/// Who is awake, and who runs where, after these events.
fn after(seen: &[(u64, Seen)]) -> (BTreeSet<u32>, BTreeMap<usize, u32>) {
    let (mut awake, mut runs) = (BTreeSet::new(), BTreeMap::new());
    for &(_, what) in seen {
        match what {
            Seen::Wake { task, .. } => {
                awake.insert(task);
            }
            Seen::Migrate { .. } => {}
            Seen::Switch { cpu, task, sleeps } => {
                let before = match task {
                    Some(task) => runs.insert(cpu, task),
                    None => runs.remove(&cpu),
                };
                if let Some(before) = before.filter(|_| sleeps && before != task) {
                    awake.remove(&before);
                }
                awake.extend(task);
            }
        }
    }
    (awake, runs)
}

/// Nanoseconds of waiting and of running, of all tasks.
fn sums(schedule: &Schedule) -> (u64, u64) {
    let Schedule { seen, span, .. } = schedule;
    let (mut waiting, mut running) = (0, 0);
    for (at, &(from, _)) in seen.iter().enumerate() {
        let to = seen.get(at + 1).map_or(*span, |next| next.0);
        if to > from {
            let (awake, runs) = after(&seen[..=at]);
            let run: BTreeSet<u32> = runs.into_values().collect();
            waiting += (to - from) * awake.difference(&run).count() as u64;
            running += (to - from) * run.len() as u64;
        }
    }
    (waiting, running)
}

#[test]
fn the_sums_of_recordings_are_those_of_looking_at_everything() {
    for text in [PERF, REAL] {
        let schedule = schedule(text);
        let all = by_name(&schedule).all.figures[0];
        assert_eq!((all.wait, all.run), sums(&schedule));
    }
}

#[test]
fn the_sums_of_a_small_recording_are_those_reckoned_by_hand() {
    // Waiting, us: ld 2000 from its wake-up; cc1 101 1000 while ld ran; make 1500, cc1 102 1000
    // while make ran; the new make 1800; cc1 102 1000 after its move.
    let comparison = by_name(&schedule(PERF));
    let wait = |name: &str| {
        let row = comparison.groups.iter().find(|row| row.group == name).unwrap();
        (row.figures[0].wait / 1000, row.figures[0].run / 1000)
    };
    assert_eq!(wait("ld"), (2000, 1000));
    assert_eq!(wait("make"), (1500 + 1800, 1000 + 2000));
    assert_eq!(wait("cc1: a b"), (1000 + 1000 + 1000, 3000 + 3000 + 4900 + 2000 + 1000));
}

proptest! {
    #![proptest_config(crate::random::config())]

    #[test]
    fn the_sums_of_any_events_are_those_of_looking_at_everything(lines in lines()) {
        let schedule = schedule(&text(&lines));
        let (waiting, running) = sums(&schedule);
        if !schedule.tasks.is_empty() {
            let all = by_name(&schedule).all.figures[0];
            prop_assert_eq!((all.wait, all.run), (waiting, running));
        }
    }
}
