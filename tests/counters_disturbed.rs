//! Counters on CPUs that a test makes up, and with operations that are cut off and moved: feature
//! `testing`.
#![cfg(all(feature = "testing", target_os = "linux"))]
#![allow(unsafe_code, reason = "what test files share asks libc")]

mod common;

use common::{Rng, allowed, pin};
use corelocal::testing::{self, Config, Disturbance};
use corelocal::{Area, BatchedCounter, PerCpuCounter, PerCpuGauge};

/// Whatever CPU a thread is told, and where it is told none: sums are exact, the root within its bound, and
/// a limit holds.
#[test]
fn made_up_cpus_change_no_count() {
    let area = Area::builder().cpus(64).build().unwrap();
    for batch in [1, 2, 32] {
        let (counter, gauge) =
            (PerCpuCounter::in_area(&area).unwrap(), PerCpuGauge::in_area(&area).unwrap());
        let (batched, limited) = (
            BatchedCounter::in_area(&area, batch).unwrap(),
            BatchedCounter::in_area(&area, batch).unwrap(),
        );
        let mut ids = Rng::new(batch);
        let source = move || match ids.below(6) {
            0 => None,
            1 => Some(u32::MAX),
            2 => Some(64),
            _ => Some(ids.below(4) as u32),
        };
        let (mut events, mut level, mut admitted) = (0, 0, 0);
        testing::with(Config::new().cpu_ids_from(source), || {
            let mut rng = Rng::new(77 + batch);
            for _ in 0..5000 {
                let value = rng.below(2000) as i64 - 990;
                counter.add(value.unsigned_abs());
                events += value.unsigned_abs();
                gauge.add(value);
                batched.add(value);
                level += value;
                if rng.below(10) == 0 {
                    assert_eq!(counter.take(), std::mem::take(&mut events));
                }
                assert_eq!((counter.sum(), gauge.sum(), batched.sum()), (events, level, level));
                assert!(batched.read().abs_diff(level) <= batched.error_bound());
                assert_eq!(batched.compare(level + 1), std::cmp::Ordering::Less);
                if rng.below(4) == 0 {
                    limited.sub(value.abs() / 16);
                    admitted -= value.abs() / 16;
                }
                let fits = admitted + value.abs() / 8 <= 10_000;
                let added = limited.limited_add(value.unsigned_abs() / 8, 10_000);
                assert_eq!(added.is_ok(), fits, "{admitted} and {}", value.abs() / 8);
                admitted += if fits { value.abs() / 8 } else { 0 };
                assert_eq!(limited.sum(), admitted);
            }
        });
    }
}

/// G9: an operation that is moved to another CPU just before it commits, or cut off for ever.
#[test]
fn operations_that_are_moved_before_they_commit_are_carried_once() {
    let cpus = allowed();
    for (what, attempts) in
        [(Disturbance::Migrate, 1), (Disturbance::Signal, 3), (Disturbance::Signal, 64)]
    {
        let counter = PerCpuCounter::new();
        let batched = BatchedCounter::with_batch(2).unwrap();
        std::thread::scope(|scope| {
            for number in 0..3 {
                let (counter, batched, cpus) = (&counter, &batched, &cpus);
                scope.spawn(move || {
                    pin(cpus[number % cpus.len()]).expect("an allowed CPU");
                    let config = Config::new().at(7, what).first_attempts(attempts);
                    let steps = || {
                        for step in 1..=20 {
                            counter.add(step);
                            batched.add(step as i64);
                            assert_eq!(batched.limited_add(1, i64::MAX), Ok(()));
                        }
                    };
                    if number == 0 { testing::with(config, steps) } else { steps() }
                });
            }
        });
        assert_eq!(counter.take(), 3 * 210, "{what:?}");
        assert_eq!(batched.sum(), 3 * 230, "{what:?}");
        assert!(batched.read().abs_diff(3 * 230) <= batched.error_bound(), "{what:?}");
    }
}
