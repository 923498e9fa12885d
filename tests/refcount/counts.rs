//! Counts by themselves.

use crate::common::{on_moving_threads, stress};
use corelocal::refcount::{KillError, PerCpuRefCount};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

fn counted(ends: &AtomicUsize) -> PerCpuRefCount<impl Fn()> {
    PerCpuRefCount::new(move || _ = ends.fetch_add(1, Ordering::Relaxed))
}

#[test]
fn the_end_is_told_early_late_or_twice() {
    let ends = AtomicUsize::new(0);
    let count = counted(&ends);
    (0..100).for_each(|_| count.get());
    (0..100).for_each(|_| count.put());
    assert_eq!((count.references(), ends.load(Ordering::Relaxed)), (1, 0));
    count.get();
    assert!(count.try_get() && count.try_get_live() && !count.is_killed());
    assert_eq!(count.kill(), Ok(()));
    assert!(count.is_killed() && count.try_get() && !count.try_get_live());
    for left in (0..4).rev() {
        assert_eq!(ends.load(Ordering::Relaxed), 0);
        count.put();
        assert_eq!(count.references(), left);
    }
    assert_eq!((ends.load(Ordering::Relaxed), count.try_get()), (1, false));
    assert_eq!(count.kill(), Err(KillError::Killed));
    // One too many: the end is not told again, and nothing comes back.
    count.put();
    count.put();
    count.get();
    assert_eq!((ends.load(Ordering::Relaxed), count.try_get()), (1, false));
}

#[test]
fn a_kill_of_the_only_reference_is_not_the_end() {
    let ends = AtomicUsize::new(0);
    let count = counted(&ends);
    count.kill().unwrap();
    assert_eq!((ends.load(Ordering::Relaxed), count.references(), count.try_get()), (1, 0, false));
}

#[test]
fn a_count_that_is_dropped_alive_tells_an_end() {
    let ends = AtomicUsize::new(0);
    let count = counted(&ends);
    count.get();
    drop(count);
    assert_eq!(ends.load(Ordering::Relaxed), 0);
}

#[test]
fn a_closure_that_panics_is_called_again() {
    let calls = AtomicUsize::new(0);
    let count = PerCpuRefCount::new(|| {
        calls.fetch_add(1, Ordering::Relaxed);
        panic!("on purpose");
    });
    count.get();
    count.kill().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| count.put())).is_err());
    assert_eq!((calls.load(Ordering::Relaxed), count.try_get()), (1, false));
}

/// References that are got and put by threads on the move while another one kills: the end is told once,
/// after the last put and before anything else.
#[test]
fn a_kill_among_moving_threads_loses_a_reference() {
    for _ in 0..5 * stress() {
        let ends = AtomicUsize::new(0);
        let count = counted(&ends);
        // One for each thread, and one for all of them.
        (0..5).for_each(|_| count.get());
        std::thread::scope(|scope| {
            scope.spawn(|| count.kill().unwrap());
            on_moving_threads(300, |_, step| {
                count.get();
                assert_eq!(ends.load(Ordering::Relaxed), 0, "the end, with references");
                assert!(count.try_get());
                count.put();
                count.put();
                if step == 299 {
                    count.put();
                }
            });
        });
        assert_eq!((ends.load(Ordering::Relaxed), count.references()), (0, 1));
        count.put();
        assert_eq!(ends.load(Ordering::Relaxed), 1);
    }
}

/// Threads that have no reference, and get one only if there is one to get.
#[test]
fn what_was_found_in_a_table_lives_after_its_end() {
    for _ in 0..10 * stress() {
        let ends = AtomicUsize::new(0);
        let count = counted(&ends);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while count.try_get() {
                        assert_eq!(ends.load(Ordering::Relaxed), 0, "got after the end");
                        count.put();
                    }
                });
            }
            scope.spawn(|| count.kill().unwrap());
        });
        assert_eq!(ends.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn a_thousand_counts_take_a_page_each() {
    let area = corelocal::Area::builder().build().unwrap();
    let counts: Vec<_> =
        (0..1000).map(|_| PerCpuRefCount::<fn()>::in_area(&area, || ()).unwrap()).collect();
    let live = area.stats().live;
    assert_eq!(live, 1000 * 8 * area.stats().lanes, "8 bytes a lane");
    counts.iter().for_each(PerCpuRefCount::get);
    drop(counts);
    assert_eq!(area.stats().live, 0);
}
