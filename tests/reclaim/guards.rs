//! How long an object lives: as long as guards that came before it left its slot.

use crate::{Census, hurry, lanes, settle};
use corelocal::reclaim::{Guard, Unlinked, pin, wait_for_readers};
use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock};

/// Retires an object beside a reader in each of the ways, and sees that it lives until then.
#[track_caller]
fn beside_a_reader(retire: impl Fn(Unlinked<crate::Counted>, &Guard)) {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(1));
    let (loaded, retired) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let guard = pin();
            let object = slot.load(&guard).unwrap();
            loaded.wait();
            retired.wait();
            assert!(object.iter().all(|(_, copy)| copy.read() == 1));
        });
        loaded.wait();
        let guard = pin();
        retire(slot.swap(Some(census.object(2)), &guard).unwrap(), &guard);
        drop(guard);
        hurry();
        let alive = census.alive();
        retired.wait();
        assert_eq!(alive, 2 * lanes(), "freed under its reader");
    });
    settle(|| census.alive() == lanes());
    assert_eq!(slot.load(&pin()).unwrap().spill().read(), 2);
}

#[test]
fn a_retired_object_is_freed_under_its_reader() {
    beside_a_reader(|old, guard| old.retire(guard));
    beside_a_reader(|old, _| drop(old));
    beside_a_reader(|old, guard| old.retire_with(guard, drop));
    beside_a_reader(|old, guard| old.retire_in_stages(guard, |_| {}));
}

/// Also when the guard that it was retired under is not the one that it was taken out under.
#[test]
fn an_object_is_freed_under_the_thread_that_retired_it() {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(1));
    let outer = pin();
    let object = slot.load(&outer).unwrap();
    drop(slot.swap(None, &pin()));
    hurry();
    assert_eq!(object.spill().read(), 1);
    drop(outer);
    settle(|| census.alive() == 0);
}

/// Two stages: a reader that found the object before `unregister` ran is waited for as well.
#[test]
fn an_object_is_freed_while_its_second_list_is_read() {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(1));
    let unregistered = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&unregistered);
    let guard = pin();
    slot.swap(None, &guard).unwrap().retire_in_stages(&guard, move |object| {
        assert!(object.iter().all(|(_, copy)| copy.read() == 1));
        told.fetch_add(1, Ordering::Relaxed);
    });
    hurry();
    assert_eq!(unregistered.load(Ordering::Relaxed), 0, "a walker is about");
    drop(guard);
    settle(|| census.alive() == 0);
    assert_eq!(unregistered.load(Ordering::Relaxed), 1);
}

/// In a process of its own, since the callback stops whichever thread runs it.
#[test]
fn an_object_is_freed_before_a_reader_between_the_stages_is_done() {
    let name = "guards::an_object_is_freed_before_a_reader_between_the_stages_is_done";
    crate::common::alone(name, between_the_stages);
}

fn between_the_stages() {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(1));
    // The callback has begun; the reader is pinned; it has looked.
    static STEPS: [LazyLock<Barrier>; 3] = [const { LazyLock::new(|| Barrier::new(2)) }; 3];
    let guard = pin();
    slot.swap(None, &guard).unwrap().retire_in_stages(&guard, |_| {
        STEPS[0].wait();
        // The list still leads to the object, and a reader comes by it now.
        STEPS[1].wait();
    });
    guard.flush();
    drop(guard);
    let turns = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            STEPS[0].wait();
            let guard = pin();
            STEPS[1].wait();
            // So often who runs the callback has come by again.
            let until = turns.load(Ordering::Relaxed) + 50;
            while turns.load(Ordering::Relaxed) < until && census.alive() != 0 {
                std::thread::yield_now();
            }
            let alive = census.alive();
            STEPS[2].wait();
            drop(guard);
            assert_eq!(alive, lanes(), "freed under a reader that found it in time");
        });
        // Runs the callback.
        scope.spawn(|| {
            settle(|| {
                turns.fetch_add(1, Ordering::Relaxed);
                census.alive() == 0
            });
        });
        STEPS[2].wait();
    });
}

/// Counts that readers make until the very end are in what the callback sees.
#[test]
fn a_callback_misses_what_the_last_reader_counted() {
    static TOTAL: AtomicU64 = AtomicU64::new(0);
    let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
    let guard = pin();
    let hits = slot.load(&guard).unwrap();
    let old = slot.swap(None, &guard).unwrap();
    old.retire_with(&guard, |object| {
        TOTAL.fetch_add(object.sum() + 1, Ordering::Relaxed);
    });
    (0..100).for_each(|_| hits.add(1));
    drop(guard);
    settle(|| TOTAL.load(Ordering::Relaxed) != 0);
    assert_eq!(TOTAL.load(Ordering::Relaxed), 101);
}

#[test]
fn who_waits_while_pinned_waits_for_itself() {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(1));
    let guard = pin();
    assert!(wait_for_readers().is_err());
    let old = slot.swap(None, &guard).unwrap().wait().unwrap_err().into_inner();
    assert_eq!(old.as_ref().spill().read(), 1);
    drop(guard);
    drop(old.wait().unwrap());
    assert_eq!(census.alive(), 0);
    // A callback runs pinned.
    let slot = AtomicPerCpu::new(census.object(2));
    let asked = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&asked);
    let guard = pin();
    slot.swap(None, &guard).unwrap().retire_with(&guard, move |_| {
        told.store(1 + usize::from(wait_for_readers().is_err()), Ordering::Relaxed);
    });
    drop(guard);
    settle(|| asked.load(Ordering::Relaxed) != 0);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

/// A guard that keeps nothing alive would make `load` a way to freed memory in safe code.
#[test]
fn a_guard_of_another_collector_is_taken() {
    let collector = crossbeam_epoch::Collector::new();
    let handle = collector.register();
    let other = handle.pin();
    // SAFETY:
    // - nothing is loaded under it: that it is refused is what is tested.
    let unprotected = unsafe { crossbeam_epoch::unprotected() };
    for wrong in [&other, unprotected] {
        let census = Census::default();
        let slot = AtomicPerCpu::new(census.object(1));
        let refused = |body: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
        refused(&|| _ = slot.load(wrong));
        refused(&|| _ = AtomicPerCpu::<PerCpuCell<u64>>::null().load(wrong));
        refused(&|| drop(slot.swap(Some(census.object(2)), wrong)));
        refused(&|| drop(slot.compare_exchange(None, Some(census.object(3)), wrong)));
        refused(&|| _ = slot.retire(wrong));
        assert_eq!(slot.load(&pin()).unwrap().spill().read(), 1, "changed by a refused call");
        assert_eq!(census.alive(), lanes());
        // What cannot be retired under it is retired nevertheless.
        refused(&|| slot.swap(Some(census.object(4)), &pin()).unwrap().retire(wrong));
        refused(&|| {
            let old = slot.swap(Some(census.object(5)), &pin()).unwrap();
            old.retire_in_stages(wrong, |_| unreachable!("it was refused"));
        });
        settle(|| census.alive() == lanes());
        assert_eq!(slot.load(&pin()).unwrap().spill().read(), 5);
    }
}

/// In the destructor of a thread-local value, where the thread's participant is gone, and no other pin
/// of the thread is seen.
#[test]
fn a_thread_that_ends_waits_for_itself() {
    use std::sync::mpsc;
    struct AtEnd(mpsc::Sender<[bool; 2]>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let guard = pin();
            let held = wait_for_readers().is_err();
            let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
            let old = slot.swap(None, &guard).unwrap();
            let _ = self.0.send([held, old.wait().is_err()]);
        }
    }
    std::thread_local! {
        static AT_END: std::cell::OnceCell<AtEnd> = const { std::cell::OnceCell::new() };
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // Registered first, so dropped last.
        AT_END.with(|at_end| drop(at_end.set(AtEnd(sender))));
        drop(pin());
    });
    let refused = receiver.recv_timeout(std::time::Duration::from_secs(60));
    assert_eq!(refused, Ok([true; 2]), "still waiting");
}
