//! Exact end states: threads that work while they are moved, interrupted by a signal whose
//! handler does the same work, and not told their CPU.
#![allow(unsafe_code, reason = "raw lanes, and a control without sections")]

use corelocal::sys::rseq::{HERE, Outcome, Points, Sections, Words};
use rseq_tests::churn::{self, cpu};
use rseq_tests::implementation::{Entries, Implementation, sections};
use rseq_tests::lanes::{Far, Lanes};
use rseq_tests::run::{Plan, disturbed, run};
use rseq_tests::work::Kind;
use rseq_tests::{over_each, settle};
use std::sync::atomic::{AtomicU64, Ordering};

fn report(what: &str, before: (u64, u64, u64)) {
    let (aborts, spills, signals) = churn::counts();
    eprintln!(
        "{what}: {} aborts, {} spills, {} signals",
        aborts - before.0,
        spills - before.1,
        signals - before.2
    );
}

#[test]
fn eight_disturbed_threads_lose_nothing() {
    fn body<I: Implementation>(on: I) {
        for kind in Kind::ALL {
            let before = churn::counts();
            let done = run(on, kind, Plan { steps: 60_000, ..Plan::default() }).unwrap();
            assert!(done > 60_000, "{kind:?} over {on:?}: only {done} operations committed");
            report(&format!("{kind:?} over {on:?}, {done} operations"), before);
        }
    }
    over_each!(body);
}

/// The control: the same threads and disturbance, and a window of some hundred cycles.
#[test]
fn the_same_disturbance_makes_an_unprotected_window_lose_updates() {
    let lanes = Lanes::new(churn::cpus());
    let steps = AtomicU64::new(0);
    let step = || {
        let word = &lanes.lane(cpu()).word;
        let old = word.load(Ordering::Relaxed);
        (0..200).for_each(|_| std::hint::spin_loop());
        word.store(old + 1, Ordering::Relaxed);
        steps.fetch_add(1, Ordering::Relaxed);
    };
    disturbed(Plan { steps: 30_000, ..Plan::default() }, &step);
    let (sum, steps) = (lanes.sum(), steps.load(Ordering::Relaxed));
    eprintln!("control: {sum} of {steps} arrived");
    assert!(sum < steps, "nothing was lost: the disturbance is no test");
}

/// The same window inside a section: exact, and cut off in earnest.
#[test]
fn a_section_as_wide_as_the_control_is_cut_off_and_loses_nothing() {
    let Some(bare) = sections() else { return };
    let lanes = Lanes::new(churn::cpus());
    let steps = AtomicU64::new(0);
    let aborts = AtomicU64::new(0);
    let add = || {
        let points = Points::default();
        loop {
            points.set(4, 4000);
            let sections = Sections::new(bare.0).held(&points);
            // SAFETY:
            // - the lanes cover every CPU.
            let added = unsafe { sections.update::<Far, _, _, 0>(lanes.word(), 1u64, HERE) };
            match added {
                Outcome::Committed { .. } => break,
                Outcome::Aborted => aborts.fetch_add(1, Ordering::Relaxed),
                other => panic!("{other:?}"),
            };
        }
        steps.fetch_add(1, Ordering::Relaxed);
    };
    disturbed(Plan { steps: 5_000, ..Plan::default() }, &add);
    let aborts = aborts.load(Ordering::Relaxed);
    eprintln!("wide section: {aborts} aborts");
    assert_eq!(lanes.sum(), steps.load(Ordering::Relaxed));
    assert!(aborts > 100, "only {aborts} aborts");
}

/// D10: some threads of a process are not registered.
#[test]
fn threads_without_a_registration_are_counted_too() {
    fn body<I: Implementation>(on: I) {
        for kind in Kind::ALL {
            let plan = Plan { steps: 20_000, unregistered: 3, ..Plan::default() };
            let before = churn::counts();
            run(on, kind, plan).unwrap();
            if std::any::type_name::<I>().contains("Bare") {
                assert!(churn::counts().1 > before.1, "every thread was still registered");
            }
            report(&format!("{kind:?} over {on:?}, 3 of 8 unregistered"), before);
        }
    }
    over_each!(body);
}

/// Signals faster than a held-up section can end: every attempt is cut off.
#[test]
fn a_thread_that_aborts_for_ever_gets_through_by_the_spill_lane() {
    let on = Entries::new();
    if sections().is_none() {
        return;
    }
    let mut turns = [0; Points::COUNT];
    turns[7] = 3_000_000;
    for kind in [Kind::Add, Kind::List, Kind::Stack] {
        let before = churn::counts();
        let plan = Plan { threads: 2, steps: 2, signal_every: 20, turns, ..Plan::default() };
        // The handler's own operations would wait as long: it has none.
        let work = rseq_tests::work::Work::new(on, kind, churn::cpus());
        std::thread::scope(|scope| {
            for _ in 0..plan.threads {
                scope.spawn(|| {
                    churn::interrupted(20, &|| (), || {
                        corelocal::sys::rseq::hold(turns, || {
                            (0..plan.steps).for_each(|_| work.step())
                        });
                    });
                });
            }
        });
        work.check().unwrap();
        report(&format!("{kind:?}, cut off for ever"), before);
        assert!(churn::counts().1 > before.1, "no operation reached the spill lane");
    }
}

/// The short form of the binary `exact`.
#[test]
fn one_sum_by_threads_disturbed_in_every_way_is_exact() {
    let _ = Entries::new();
    let found = rseq_tests::exact::run(100_000);
    eprintln!("{found}");
    assert!(found.is_good(), "{found}");
}

/// What the kernel wrote into the area is still there, and the descriptor is cleared.
#[test]
fn ten_million_operations_leave_the_area_as_the_kernel_wrote_it() {
    let Some(bare) = sections() else { return };
    churn::pin(0, &[cpu()]);
    let area = corelocal::sys::rseq::thread_area().unwrap().cast::<u64>();
    let read = || {
        std::array::from_fn::<u64, 4, _>(|k| {
            // SAFETY:
            // - the area is at least 32 bytes, and this thread's own.
            unsafe { area.wrapping_add(k).read_volatile() }
        })
    };
    let lanes = Lanes::new(churn::cpus());
    let before = read();
    for _ in 0..10_000_000 {
        let _ = settle!(bare, add::<_, _>(lanes.word(), 1, HERE));
    }
    let after = read();
    assert_eq!(lanes.sum(), 10_000_000);
    assert_eq!(after[1], 0, "the descriptor was not cleared");
    assert_eq!((before[0], before[2] as u32), (after[0], after[2] as u32));
}
