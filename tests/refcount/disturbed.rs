//! Operations that are cut off, or moved, at every point of their sections, and kills in between.

use crate::common::{allowed, pin};
use crate::{Value, count};
use corelocal::refcount::{PerCpuArc, PerCpuArcOwner};
use corelocal::testing::{self, Config, Disturbance};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// At each point, by each kind of disturbance, once and for ever: clones and drops count once.
#[test]
fn a_clone_that_is_cut_off_at_any_point_counts_twice_or_not_at_all() {
    let cpus = allowed();
    for point in 0..=8 {
        for (what, attempts) in
            [(Disturbance::Signal, 1), (Disturbance::Migrate, 1), (Disturbance::Signal, 64)]
        {
            // The last one waits for 64 signals an operation.
            let steps = if attempts == 64 { 1 } else { 3 };
            let (value, drops) = Value::new();
            let owner = PerCpuArcOwner::new(value);
            let shared = owner.share();
            std::thread::scope(|scope| {
                let (cpus, shared) = (&cpus, &shared);
                scope.spawn(move || {
                    pin(cpus[point % cpus.len()]).expect("an allowed CPU");
                    let config = Config::new().at(point, what).first_attempts(attempts);
                    testing::with(config, || {
                        let arcs: Vec<PerCpuArc<Value>> =
                            (0..steps).map(|_| shared.clone()).collect();
                        arcs.iter().for_each(|arc| arc.look());
                        drop(arcs);
                    });
                });
            });
            assert_eq!(owner.references(), 2, "point {point}, {what:?} {attempts} times");
            drop(owner);
            assert_eq!((PerCpuArc::references(&shared), count(&drops)), (1, 0));
            drop(shared);
            assert_eq!(count(&drops), 1, "point {point}, {what:?} {attempts} times");
        }
    }
}

/// The owner goes while a clone, or a drop, is held up between its look at the mode and its commit: it is
/// in the sum, or on the total.
#[test]
fn a_section_that_is_held_up_commits_behind_a_kill() {
    for round in 0..60 {
        let point = [3, 4, 7][round % 3];
        let (value, drops) = Value::new();
        let owner = PerCpuArcOwner::new(value);
        let shared = owner.share();
        let other = Cell::new(Some(owner.share()));
        let (begins, cloned) = (AtomicBool::new(false), Cell::new(None));
        std::thread::scope(|scope| {
            let (begins, shared, mut held) = (&begins, &shared, other.take());
            let handle = scope.spawn(move || {
                let config = Config::new().at(point, Disturbance::Delay(1_000_000));
                let mut clone = None;
                testing::with(config.first_attempts(30), || {
                    begins.store(true, Ordering::Release);
                    if round % 2 == 0 {
                        clone = Some(shared.clone());
                    } else {
                        drop(held.take());
                    }
                });
                (held, clone)
            });
            while !begins.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            drop(owner);
            let (held, clone) = handle.join().expect("no panic");
            other.set(held);
            cloned.set(clone);
        });
        // Ours, and the other one and what was cloned; or neither.
        let left = if round % 2 == 0 { 3 } else { 1 };
        let told = PerCpuArc::references(&shared);
        assert_eq!((told, count(&drops)), (left, 0), "point {point}");
    }
}
