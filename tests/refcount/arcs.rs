//! Owners and their arcs.

use crate::common::{Probe, on_moving_threads, stress};
use crate::{Value, count};
use corelocal::refcount::{NotKilled, PerCpuArc, PerCpuArcOwner};
use corelocal::{PerCpuRefCount, refcount::KillError};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, mpsc};

#[test]
fn the_value_is_dropped_before_its_last_reference() {
    let (value, drops) = Value::new();
    let owner = PerCpuArcOwner::new(value);
    let arcs: Vec<PerCpuArc<Value>> = (0..10).map(|_| owner.share()).collect();
    let more = arcs.to_vec();
    assert_eq!((owner.references(), count(&drops)), (21, 0));
    drop(arcs);
    assert_eq!((owner.references(), count(&drops)), (11, 0));
    owner.look();
    drop(owner);
    for (at, arc) in more.into_iter().enumerate() {
        arc.look();
        let left = 10 - at as u64;
        assert_eq!((PerCpuArc::references(&arc), count(&drops)), (left, 0));
        drop(arc);
    }
    assert_eq!(count(&drops), 1);
}

#[test]
fn an_owner_that_goes_last_leaks_the_value() {
    let (value, drops) = Value::new();
    let owner = PerCpuArcOwner::new(value);
    drop((0..5).map(|_| owner.share()).collect::<Vec<_>>());
    assert_eq!(count(&drops), 0, "not while it has an owner");
    drop(owner);
    assert_eq!((count(&drops), corelocal::refcount::leaked()), (1, 0));
}

#[test]
fn a_clone_that_is_made_after_the_owner_went_does_not_count() {
    let (value, drops) = Value::new();
    let owner = PerCpuArcOwner::new(value);
    let first = owner.share();
    assert!(PerCpuArc::has_owner(&first));
    owner.kill().unwrap();
    assert!(!PerCpuArc::has_owner(&first));
    let second = first.clone();
    assert!(PerCpuArc::ptr_eq(&first, &second));
    drop(first);
    second.look();
    assert_eq!((PerCpuArc::references(&second), count(&drops)), (1, 0));
    drop(second);
    assert_eq!(count(&drops), 1);
}

/// Cloned on one CPU, dropped on another, by threads that change CPUs all the time, while and after the
/// owner goes.
#[test]
fn arcs_that_travel_free_the_value_early_or_never() {
    for _ in 0..5 * stress() {
        let (value, drops) = Value::new();
        let owner = PerCpuArcOwner::new(value);
        let (to, from) = mpsc::channel::<PerCpuArc<Value>>();
        let shared = owner.share();
        std::thread::scope(|scope| {
            scope.spawn(move || from.into_iter().for_each(|arc| arc.look()));
            scope.spawn(move || drop(owner));
            let to = to;
            on_moving_threads(400, |rng, _| {
                let arc = shared.clone();
                arc.look();
                match rng.below(3) {
                    0 => to.send(arc).unwrap(),
                    1 => drop((arc.clone(), arc)),
                    _ => drop(arc),
                }
            });
        });
        assert_eq!((PerCpuArc::references(&shared), count(&drops)), (1, 0));
        drop(shared);
        assert_eq!(count(&drops), 1);
    }
}

#[test]
fn a_value_whose_drop_panics_is_dropped_twice_or_its_memory_leaks() {
    struct Bad(Arc<()>);
    impl Drop for Bad {
        fn drop(&mut self) {
            assert_eq!(Arc::strong_count(&self.0), 1, "on purpose");
        }
    }
    let witness = Arc::new(());
    let owner = PerCpuArcOwner::new(Bad(Arc::clone(&witness)));
    let arc = owner.share();
    drop(owner);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(arc))).is_err());
    assert_eq!(Arc::strong_count(&witness), 1, "what was in it went all the same");
}

#[test]
fn a_value_that_cannot_be_made_leaves_its_count_behind() {
    let made = catch_unwind(|| {
        PerCpuArcOwner::<u8>::try_new_with(|| panic!("on purpose")).map(drop).unwrap();
    });
    assert!(made.is_err());
}

/// Values without size, with much of it, and with large alignment.
#[test]
fn shapes_of_values_move_the_count() {
    #[repr(align(4096))]
    struct Aligned([u8; 3]);
    let (empty, large, aligned) = (
        PerCpuArcOwner::new(()),
        PerCpuArcOwner::new([7_u64; 10_000]),
        PerCpuArcOwner::new(Aligned([1, 2, 3])),
    );
    let arcs = (empty.share(), large.share(), aligned.share());
    drop((empty, large));
    assert_eq!((*arcs.0, arcs.1[9_999], arcs.2.0), ((), 7, [1, 2, 3]));
    assert_eq!(std::ptr::from_ref::<Aligned>(&aligned).addr() % 4096, 0);
}

#[test]
fn an_arc_of_what_threads_may_not_share_goes_to_another_thread() {
    macro_rules! markers {
        ($t:ty) => {{
            #[allow(unused_imports, reason = "for those that may not")]
            use crate::common::MayNot as _;
            (Probe::<$t>::SEND, Probe::<$t>::SYNC)
        }};
    }
    assert_eq!(markers!(PerCpuArc<u8>), (true, true));
    assert_eq!(markers!(PerCpuArcOwner<u8>), (true, true));
    assert_eq!(markers!(NotKilled<u8>), (true, true));
    assert_eq!(markers!(PerCpuRefCount), (true, true));
    assert_eq!(markers!(KillError), (true, true));
    // As with an `Arc`: what may only be sent must not be shared, and the other way round.
    assert_eq!(
        (markers!(PerCpuArc<Cell<u8>>), markers!(Arc<Cell<u8>>)),
        ((false, false), (false, false))
    );
    assert_eq!(markers!(PerCpuArcOwner<Cell<u8>>), (false, false));
    assert_eq!(markers!(PerCpuArc<Rc<u8>>), (false, false));
    assert_eq!(markers!(PerCpuArc<std::sync::MutexGuard<'static, u8>>), (false, false));
}

#[test]
fn an_arc_is_larger_than_a_pointer() {
    assert_eq!(size_of::<PerCpuArc<[u8; 100]>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<PerCpuArc<u8>>>(), size_of::<usize>());
    assert_eq!(size_of::<PerCpuArcOwner<u8>>(), size_of::<usize>());
}

#[test]
fn formatting_an_arc_formats_something_else() {
    let owner = PerCpuArcOwner::new("text");
    let arc = owner.share();
    assert_eq!(format!("{arc} {arc:?} {owner:?}"), "text \"text\" \"text\"");
    let count = PerCpuRefCount::new(|| ());
    assert!(format!("{count:?}").contains("is_killed: false"));
}
