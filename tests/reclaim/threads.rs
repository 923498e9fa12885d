//! Many threads at one slot.

use crate::common::{on_moving_threads, stress};
use crate::{Census, lanes, settle};
use corelocal::reclaim::pin;
use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, PerCpuPtr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Three of four look, one of them replaces; all change their CPU all the time.
#[test]
fn readers_see_an_object_of_two_generations_or_of_none() {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(0));
    let next = AtomicUsize::new(1);
    on_moving_threads(3_000 * stress(), |rng, _| {
        let guard = pin();
        if rng.below(8) == 0 {
            let object = census.object(next.fetch_add(1, Ordering::Relaxed));
            let old = slot.swap(Some(object), &guard).expect("never empty");
            match rng.below(4) {
                0 => old.retire(&guard),
                1 => old.retire_with(&guard, |object| {
                    let number = object.spill().read();
                    assert!(object.iter().all(|(_, copy)| copy.read() == number));
                }),
                2 => old.retire_in_stages(&guard, |object| {
                    object.spill().read();
                }),
                _ => drop(old),
            }
            return;
        }
        let object = slot.load(&guard).expect("never empty");
        let number = object.this().read();
        assert!(object.iter().all(|(_, copy)| copy.read() == number));
    });
    settle(|| census.alive() == lanes());
    drop(slot);
    assert_eq!(census.alive(), 0);
}

/// Updates go to whatever is in the slot, by sections where there are some. None is lost, since an
/// object is summed up when all who could add to it are done.
#[test]
fn adds_to_an_object_that_is_replaced_are_lost() {
    let slot = AtomicPerCpu::new(PerCpu::<PerCpuCell<u64>>::zeroed());
    // What retired objects held, and how many there were.
    let folded = Arc::new(Mutex::new((0, 0)));
    let (adds, swaps) = (AtomicUsize::new(0), AtomicUsize::new(0));
    on_moving_threads(5_000 * stress(), |rng, step| {
        let guard = pin();
        let hits = slot.load(&guard).expect("never empty");
        if step % 64 == 0 {
            let folded = Arc::clone(&folded);
            let old = slot.swap(Some(PerCpu::zeroed()), &guard).expect("never empty");
            old.retire_with(&guard, move |object| {
                let mut folded = folded.lock().expect("nobody panicked");
                *folded = (folded.0 + object.sum(), folded.1 + 1);
            });
            swaps.fetch_add(1, Ordering::Relaxed);
        }
        let some = 1 + rng.below(4);
        (0..some).for_each(|_| hits.add(1));
        adds.fetch_add(some, Ordering::Relaxed);
    });
    let swaps = swaps.into_inner();
    settle(|| folded.lock().expect("nobody panicked").1 == swaps);
    let left = slot.into_inner().expect("never empty").sum();
    let folded = folded.lock().expect("nobody panicked").0;
    assert_eq!(folded + left, adds.into_inner() as u64);
}

/// Copy and change without a lock: each step that wins is there in the end.
#[test]
fn changes_of_two_writers_overwrite_each_other() {
    let slot = AtomicPerCpu::new(PerCpu::new(|_| 0_u64));
    let raised = AtomicUsize::new(0);
    on_moving_threads(300 * stress(), |_, _| {
        let guard = pin();
        let mut seen = slot.load(&guard);
        loop {
            let number = *seen.expect("never empty").this();
            let new = PerCpu::new(|_| number + 1);
            match slot.compare_exchange(seen, Some(new), &guard) {
                Ok(_) => break,
                Err(lost) => seen = lost.current,
            }
        }
        raised.fetch_add(1, Ordering::Relaxed);
    });
    let object = slot.into_inner().expect("never empty");
    assert!(object.iter().all(|(_, &number)| number == raised.load(Ordering::Relaxed) as u64));
}

/// The kernel's case, on real threads: walkers put what they find in the slot into a list, others find
/// it there, and objects die meanwhile.
#[test]
fn a_dying_object_that_is_listed_again_is_freed_under_who_finds_it() {
    const OBJECTS: usize = 200;
    let census = Census::default();
    let raw: Vec<PerCpuPtr<_>> =
        (0..OBJECTS).map(|number| PerCpu::into_raw(census.object(number))).collect();
    let slot = AtomicPerCpu::null();
    // The number of an object, and one more; 0 is nothing.
    let list: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
    let next = AtomicUsize::new(0);
    let alone = Mutex::new(());
    on_moving_threads(2_000 * stress(), |rng, _| {
        let guard = pin();
        match rng.below(16) {
            0 => {
                // Numbers go up in the slot.
                let _one = alone.lock().expect("nobody panicked");
                let number = next.load(Ordering::Relaxed);
                if number == OBJECTS {
                    return;
                }
                next.store(number + 1, Ordering::Relaxed);
                // SAFETY:
                // - each handle is given back once, here; the list's users are what is tested.
                let object = unsafe { PerCpu::from_raw(raw[number]) };
                if let Some(old) = slot.swap(Some(object), &guard) {
                    old.retire_in_stages(&guard, |object| {
                        let listed = object.spill().read() + 1;
                        // Only if it is there.
                        let _ =
                            list.compare_exchange(listed, 0, Ordering::AcqRel, Ordering::Relaxed);
                    });
                }
            }
            1..8 => {
                if let Some(object) = slot.load(&guard) {
                    list.store(object.this().read() + 1, Ordering::Release);
                }
            }
            _ => match list.load(Ordering::Acquire) {
                0 => {}
                listed => {
                    // SAFETY:
                    // - what is found in the list under a guard is not freed before that is gone.
                    let object = unsafe { raw[listed - 1].as_ref() };
                    assert!(object.iter().all(|(_, copy)| copy.read() == listed - 1));
                }
            },
        }
    });
    let left = OBJECTS - next.load(Ordering::Relaxed);
    slot.retire(&pin());
    settle(|| census.alive() == left * lanes());
}
