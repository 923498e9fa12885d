//! Operations that are cut off, or moved, at every point of their sections, and kills in between.

use crate::common::{allowed, pin};
use crate::{Value, count};
use corelocal::refcount::{PerCpuArc, PerCpuArcOwner};
use corelocal::testing::{self, Config, Disturbance};

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

/// The owner goes while another thread's clones and drops are held up in the middle.
#[test]
fn a_section_that_is_held_up_commits_behind_a_kill() {
    for point in 1..=7 {
        for _ in 0..3 {
            let (value, drops) = Value::new();
            let owner = PerCpuArcOwner::new(value);
            let shared = owner.share();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let config = Config::new().at(point, Disturbance::Delay(20_000));
                    testing::with(config, || {
                        for _ in 0..20 {
                            let arc = shared.clone();
                            arc.look();
                            drop(arc);
                        }
                    });
                });
                scope.spawn(move || drop(owner));
            });
            assert_eq!((PerCpuArc::references(&shared), count(&drops)), (1, 0), "point {point}");
            drop(shared);
            assert_eq!(count(&drops), 1, "point {point}");
        }
    }
}
