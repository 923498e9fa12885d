//! Models of `corelocal::priority`: what a search promises (G1 to G4 of the room's page), the
//! hand-shake of push and pull, and what a `Level` promises by itself. Edges E30 to E33.
//!
//! Every model of a vector runs over the four layouts, as `packed::NAME`, `padded::NAME`, ...

use corelocal::{ByCpu, CpuId, CpuMask, Level, Packed, Padded, PriorityVec, Split};
use loom_tests::priorities::{AnyLayout, Shared, mask, priority};
use loom_tests::{Arc, AtomicU64, AtomicUsize, fence, large_model, model, part, together};
use std::sync::atomic::Ordering;

/// A test a layout for each model.
macro_rules! in_each_layout {
    ($($layout:ident $value:expr;)+ => $models:tt) => {
        $(in_each_layout!(@ $layout $value, $models);)+
    };
    (@ $layout:ident $value:expr, { $($model:ident)+ }) => {
        mod $layout {
            use super::*;
            $(#[test]
            fn $model() {
                super::$model(concat!(stringify!($layout), "::", stringify!($model)), $value);
            })+
        }
    };
}

in_each_layout! {
    packed Packed;
    padded Padded;
    split Split::<2>;
    by_cpu ByCpu::<8>;
    => {
        a_riser_is_missed
        a_riser_among_others_is_missed
        a_riser_that_fits_is_missed
        a_riser_of_two_steps_is_missed
        a_stable_cpu_is_missed
        a_stable_cpu_of_another_shard_is_missed
        a_cpu_is_found_where_it_never_was
        push_and_pull_miss_each_other
        push_misses_a_cpu_that_came_up
        a_claim_after_a_drop_misses_the_drop
        an_id_comes_out_of_an_empty_mask
        a_counted_cpu_is_not_found
        a_cpu_is_counted_where_it_is_not_found
    }
}

/// G3, E31. CPU 0 rises from level 0, where CPU 1 stays: a search for CPU 0 reads the mask there.
fn a_riser_is_missed(name: &str, layout: impl AnyLayout) {
    model(name, 3, move || {
        let shared = Shared::new(layout, &[0, 0]);
        together([
            part(&shared, |shared| shared.set(0, 1)),
            part(&shared, |shared| {
                let found = shared.find(2, &[0]);
                assert!(found == Some((0, vec![0])) || found == Some((1, vec![0])), "{found:?}");
            }),
        ]);
    });
}

/// G3, E31, with two writers: CPU 0 rises, CPU 1 goes the other way.
fn a_riser_among_others_is_missed(name: &str, layout: impl AnyLayout) {
    large_model(name, [2, 4], move || {
        let shared = Shared::new(layout, &[0, 1]);
        together([
            part(&shared, |shared| shared.set(0, 1)),
            part(&shared, |shared| shared.set(1, 0)),
            part(&shared, |shared| {
                let found = shared.find(2, &[0]);
                assert!(found == Some((0, vec![0])) || found == Some((1, vec![0])), "{found:?}");
            }),
        ]);
        assert_eq!((shared.count(0), shared.count(1)), (1, 1), "a change is lost");
        assert_eq!(shared.find(3, &[0, 1]), Some((0, vec![1])));
    });
}

/// G3, E31, where CPU 1 is found at level 0 and does not fit: the search goes on all the same.
fn a_riser_that_fits_is_missed(name: &str, layout: impl AnyLayout) {
    model(name, 3, move || {
        let shared = Shared::new(layout, &[0, 0]);
        together([
            part(&shared, |shared| shared.set(0, 1)),
            part(&shared, |shared| {
                let found = shared.find_fit(2, &[0, 1], &[0]);
                assert!(found == Some((0, vec![0])) || found == Some((1, vec![0])), "{found:?}");
            }),
        ]);
    });
}

/// G3, E31: CPU 0 rises twice.
fn a_riser_of_two_steps_is_missed(name: &str, layout: impl AnyLayout) {
    model(name, 3, move || {
        let shared = Shared::new(layout, &[0]);
        together([
            part(&shared, |shared| {
                shared.set(0, 1);
                shared.set(0, 2);
            }),
            part(&shared, |shared| {
                let found = shared.find(3, &[0]);
                assert!(found.is_some(), "missed at all of its levels");
            }),
        ]);
        assert_eq!(shared.find(3, &[0]), Some((2, vec![0])));
    });
}

/// G2: CPU 0 stays at level 1, CPU 1 comes there and CPU 2 goes from there, next to it.
fn a_stable_cpu_is_missed(name: &str, layout: impl AnyLayout) {
    large_model(name, [2, 4], move || {
        let shared = Shared::new(layout, &[1, 2, 1]);
        together([
            part(&shared, |shared| shared.set(1, 1)),
            part(&shared, |shared| shared.set(2, 2)),
            part(&shared, |shared| {
                let (level, cpus) = shared.find(3, &[0, 1, 2]).expect("CPU 0 is there");
                assert_eq!(level, 1, "nobody is lower");
                assert!(cpus.contains(&0), "{cpus:?}");
            }),
        ]);
        assert_eq!((shared.count(1), shared.count(2)), (2, 1), "a change is lost");
        assert_eq!(shared.find(3, &[0, 1, 2]), Some((1, vec![0, 1])));
    });
}

/// G2: CPU 0 stays at level 1, CPU 8, a shard further on, rises from 0 to 2: whoever decides that it is
/// lower by one look, and takes its level from another, forgets CPU 0.
fn a_stable_cpu_of_another_shard_is_missed(name: &str, layout: impl AnyLayout) {
    model(name, 3, move || {
        let shared = Shared::new(layout, &[1, -1, -1, -1, -1, -1, -1, -1, 0]);
        together([
            part(&shared, |shared| shared.set(8, 2)),
            part(&shared, |shared| {
                let found = shared.find(3, &[0, 8]);
                assert!(found == Some((0, vec![8])) || found == Some((1, vec![0])), "{found:?}");
            }),
        ]);
    });
}

/// G1 and G4: CPU 0 goes from level 0 to 2 and CPU 1 from 2 to 0; a search with level 2 finds them
/// at level 0 or not at all.
fn a_cpu_is_found_where_it_never_was(name: &str, layout: impl AnyLayout) {
    large_model(name, [2, 4], move || {
        let shared = Shared::new(layout, &[0, 2]);
        together([
            part(&shared, |shared| shared.set(0, 2)),
            part(&shared, |shared| shared.set(1, 0)),
            part(&shared, |shared| {
                if let Some((level, cpus)) = shared.find(2, &[0, 1]) {
                    assert_eq!(level, 0, "{cpus:?} were never at this level");
                }
            }),
        ]);
        assert_eq!(shared.find(3, &[0, 1]), Some((0, vec![1])));
    });
}

/// E32: CPU 0 goes from a level to level 0, then looks for a mark; the other one marks, then looks for
/// CPU 0.
fn hand_shake(name: &str, layout: impl AnyLayout, from: i8) {
    model(name, 3, move || {
        let shared = Shared::new(layout, &[from]);
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)]);
        let (pull, push) = (flags.clone(), flags.clone());
        // Relaxed: the barriers under test are what orders these.
        together([
            part(&shared, move |shared| {
                let [overloaded, pulled, _] = &*pull;
                shared.set(0, 0);
                pulled.store(overloaded.load(Ordering::Relaxed), Ordering::Relaxed);
            }),
            part(&shared, move |shared| {
                let [overloaded, _, pushed] = &*push;
                overloaded.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                let found = shared.find(2, &[0]).is_some();
                pushed.store(usize::from(found), Ordering::Relaxed);
            }),
        ]);
        let seen = [&flags[1], &flags[2]].map(|seen| seen.load(Ordering::Relaxed));
        assert_ne!(seen, [0, 0], "the task waits though there is room");
    });
}

/// E32: CPU 0 goes down in priority, and looks for what to pull.
fn push_and_pull_miss_each_other(name: &str, layout: impl AnyLayout) {
    hand_shake(name, layout, 2);
}

/// E32: CPU 0 comes up, and looks for what to pull.
fn push_misses_a_cpu_that_came_up(name: &str, layout: impl AnyLayout) {
    hand_shake(name, layout, -1);
}

/// E1: who claims a CPU that was given back goes on from where its last writer left it: at no level.
fn a_claim_after_a_drop_misses_the_drop(name: &str, layout: impl AnyLayout) {
    model(name, 3, move || {
        let shared = Shared::new(layout, &[1]);
        together([
            part(&shared, |shared| shared.drop_slot(0)),
            part(&shared, |shared| {
                let slot = PriorityVec::claim(shared.vector.clone(), CpuId::new(0));
                let Ok(mut slot) = slot else { return };
                // Nothing in between: a search would bring edges of its own.
                slot.set(priority(2)).expect("a level");
                assert_eq!(shared.find(3, &[0]), Some((2, vec![0])));
            }),
        ]);
        for level in 0..3 {
            assert_eq!(shared.count(level), 0, "left at level {level}");
        }
        assert_eq!(shared.find(3, &[0]), None);
    });
}

/// The last CPU of level 0 goes from there: a search for one CPU finds that one, or nobody.
fn an_id_comes_out_of_an_empty_mask(name: &str, layout: impl AnyLayout) {
    large_model(name, [2, 4], move || {
        let shared = Shared::new(layout, &[0, 2]);
        together([
            part(&shared, |shared| shared.set(0, 1)),
            part(&shared, |shared| shared.set(1, 3)),
            part(&shared, |shared| {
                let found = shared.find_any(2, &[0, 1], 1);
                assert!(found == Some((0, vec![0])) || found == Some((1, vec![0])), "{found:?}");
            }),
        ]);
        assert_eq!(shared.find_any(1, &[0, 1], 1), None);
    });
}

/// E30: CPUs 0 and 1 come to level 0; who has seen the count of it finds as many CPUs there.
fn a_counted_cpu_is_not_found(name: &str, layout: impl AnyLayout) {
    large_model(name, [2, 4], move || {
        let shared = Shared::new(layout, &[-1, -1]);
        together([
            part(&shared, |shared| shared.set(0, 0)),
            part(&shared, |shared| shared.set(1, 0)),
            part(&shared, |shared| {
                let counted = shared.count(0);
                let found = shared.find(1, &[0, 1]).map_or(0, |(_, cpus)| cpus.len());
                assert!(found >= counted, "{counted} counted, {found} found");
            }),
        ]);
    });
}

/// E33: CPUs 0 and 1 go from level 0; who has found nobody there counts nobody there.
fn a_cpu_is_counted_where_it_is_not_found(name: &str, layout: impl AnyLayout) {
    large_model(name, [2, 4], move || {
        let shared = Shared::new(layout, &[0, 0]);
        together([
            part(&shared, |shared| shared.set(0, -1)),
            part(&shared, |shared| shared.set(1, -1)),
            part(&shared, |shared| {
                if shared.find(1, &[0, 1]).is_none() {
                    assert_eq!(shared.count(0), 0, "counted, and not found");
                }
            }),
        ]);
    });
}

type OneWord<P> = Level<[AtomicU64; 1], P>;

fn level<P: corelocal::priority::Padding>(cpus: &[u32]) -> Arc<OneWord<P>> {
    let level = Level::new([AtomicU64::new(0)]);
    for cpu in cpus {
        level.enter(CpuId::new(*cpu)).expect("the mask has 64 bits");
    }
    Arc::new(level)
}

/// E30 of a level by itself.
#[test]
fn a_level_counts_a_cpu_that_it_does_not_show() {
    model("a_level_counts_a_cpu_that_it_does_not_show", 3, || {
        let level = level::<Padded>(&[]);
        together([
            part(&level, |level| {
                level.enter(CpuId::new(0)).expect("a CPU of the mask");
            }),
            part(&level, |level| {
                let counted = level.count();
                let mut found = CpuMask::new();
                let any = level.find(&mask(&[0]), &mut found);
                assert!(any || counted == 0, "counted, and not found");
            }),
        ]);
    });
}

/// E33 of a level by itself.
#[test]
fn a_level_counts_a_cpu_that_it_has_lost() {
    model("a_level_counts_a_cpu_that_it_has_lost", 3, || {
        let level = level::<Packed>(&[0]);
        together([
            part(&level, |level| {
                level.leave(CpuId::new(0)).expect("a CPU of the mask");
            }),
            part(&level, |level| {
                let mut found = CpuMask::new();
                if !level.find(&mask(&[0]), &mut found) {
                    assert_eq!(level.count(), 0, "counted, and not found");
                }
            }),
        ]);
    });
}

/// E31 and E32 of two levels that a caller moves a CPU between.
#[test]
fn a_cpu_between_two_levels_is_in_none() {
    model("a_cpu_between_two_levels_is_in_none", 3, || {
        let levels = Arc::new([level::<Padded>(&[0, 1]), level::<Padded>(&[])]);
        together([
            part(&levels, |[low, high]| {
                high.enter(CpuId::new(0)).expect("a CPU of the mask");
                low.leave(CpuId::new(0)).expect("a CPU of the mask");
            }),
            part(&levels, |levels| {
                let (allowed, mut found) = (mask(&[0]), CpuMask::new());
                assert!(levels.iter().any(|level| level.find(&allowed, &mut found)), "missed");
            }),
        ]);
    });
}

/// E32 of a level by itself: CPU 0 comes, and looks for what to pull.
#[test]
fn push_misses_a_cpu_that_entered_a_level() {
    model("push_misses_a_cpu_that_entered_a_level", 3, || {
        let level = level::<Packed>(&[]);
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)]);
        let (pull, push) = (flags.clone(), flags.clone());
        // Relaxed: the barriers under test are what orders these.
        together([
            part(&level, move |level| {
                let [overloaded, pulled, _] = &*pull;
                level.enter(CpuId::new(0)).expect("a CPU of the mask");
                pulled.store(overloaded.load(Ordering::Relaxed), Ordering::Relaxed);
            }),
            part(&level, move |level| {
                let [overloaded, _, pushed] = &*push;
                overloaded.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                let found = level.find(&mask(&[0]), &mut CpuMask::new());
                pushed.store(usize::from(found), Ordering::Relaxed);
            }),
        ]);
        let seen = [&flags[1], &flags[2]].map(|seen| seen.load(Ordering::Relaxed));
        assert_ne!(seen, [0, 0], "the task waits though there is room");
    });
}

/// E31 of two levels by themselves: who finds nobody where a CPU was counts it where it went.
#[test]
fn a_cpu_that_left_for_another_level_is_counted_nowhere() {
    model("a_cpu_that_left_for_another_level_is_counted_nowhere", 3, || {
        let (old, new) = (level::<Packed>(&[0]), level::<Packed>(&[]));
        let (enters, counts) = (new.clone(), new);
        together([
            part(&old, move |old| {
                enters.enter(CpuId::new(0)).expect("a CPU of the mask");
                old.leave(CpuId::new(0)).expect("a CPU of the mask");
            }),
            part(&old, move |old| {
                if !old.find(&mask(&[0]), &mut CpuMask::new()) {
                    assert_eq!(counts.count(), 1, "neither found nor counted");
                }
            }),
        ]);
    });
}
