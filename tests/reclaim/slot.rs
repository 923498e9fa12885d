//! The slot by itself: what goes in comes out, and everything is dropped once.

use crate::common::{MayNot, Probe};
use crate::{Census, lanes, settle};
use corelocal::reclaim::{CompareExchangeError, Pinned, Unlinked, pin};
use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::MutexGuard;

/// Threads publish it with one store, and statics hold it.
#[test]
fn a_slot_is_more_than_a_word() {
    static SLOT: AtomicPerCpu<PerCpuCell<u64>> = AtomicPerCpu::null();
    assert_eq!(size_of_val(&SLOT), size_of::<usize>());
    assert!(SLOT.is_null() && SLOT.load(&pin()).is_none());
    SLOT.swap(Some(PerCpu::zeroed()), &pin());
    SLOT.load(&pin()).unwrap().add(1);
    assert!(!SLOT.is_null());
    assert_eq!(SLOT.load(&pin()).unwrap().sum(), 1);
    assert!(SLOT.retire(&pin()));
    assert!(!SLOT.retire(&pin()));
}

#[test]
fn slots_go_to_other_threads_only_if_their_values_may() {
    macro_rules! markers {
        ($($type:ty => $send:literal $sync:literal;)+) => {$(
            let is = (Probe::<$type>::SEND, Probe::<$type>::SYNC);
            assert_eq!(is, ($send, $sync), "{}", stringify!($type));
        )+};
    }
    type Guard = MutexGuard<'static, u8>; // Sync, but not Send
    markers! {
        AtomicPerCpu<u8> => true true;
        AtomicPerCpu<Cell<u8>> => true false;
        AtomicPerCpu<Rc<u8>> => false false;
        AtomicPerCpu<Guard> => false false;
        Unlinked<u8> => true true;
        // Its last reader may be on the thread that it comes from.
        Unlinked<Cell<u8>> => false false;
        CompareExchangeError<'static, u8> => true true;
        CompareExchangeError<'static, Cell<u8>> => false false;
        corelocal::reclaim::Guard => false false;
    }
}

#[test]
fn a_slot_that_is_dropped_keeps_its_object() {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(1));
    assert_eq!(census.alive(), lanes());
    drop(slot);
    // At once: its readers would borrow it.
    assert_eq!(census.alive(), 0);
    drop(AtomicPerCpu::<u64>::default());
    drop(AtomicPerCpu::<u64>::from(None));
}

#[test]
fn the_owner_of_a_slot_needs_a_guard() {
    let census = Census::default();
    let mut slot = AtomicPerCpu::from(census.object(1));
    for (_, copy) in slot.get_mut().unwrap() {
        copy.number = 2;
    }
    *slot.get_mut().unwrap() = census.object(3);
    assert_eq!(census.alive(), lanes());
    let object = slot.into_inner().unwrap();
    assert!(object.iter().all(|(_, copy)| copy.read() == 3));
    drop(object);
    assert_eq!(census.alive(), 0);
    assert!(AtomicPerCpu::<u64>::null().get_mut().is_none());
    assert!(AtomicPerCpu::<u64>::null().into_inner().is_none());
}

/// What is let go is retired: `swap` alone replaces an object.
#[test]
fn an_object_that_is_let_go_leaks() {
    let census = Census::default();
    let slot = AtomicPerCpu::null();
    for number in 0..200 {
        slot.swap(Some(census.object(number)), &pin());
    }
    settle(|| census.alive() == lanes());
    slot.retire(&pin());
    settle(|| census.alive() == 0);
}

#[test]
fn an_object_that_was_taken_out_dies_with_its_slot() {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(1));
    let old = slot.swap(None, &pin()).unwrap();
    drop(slot);
    assert!(old.as_ref().iter().all(|(_, copy)| copy.read() == 1));
    let object = old.wait().unwrap();
    assert_eq!(census.alive(), lanes());
    drop(object);
    assert_eq!(census.alive(), 0);
}

#[test]
fn an_exchange_that_loses_keeps_or_drops_what_it_was_given() {
    let census = Census::default();
    let slot = AtomicPerCpu::new(census.object(1));
    let guard = pin();
    let first = slot.load(&guard);
    // It is not null, and not another object either.
    let other = census.object(2);
    for wrong in [None, Some(other.as_ref())] {
        let lost = slot.compare_exchange(wrong, Some(census.object(3)), &guard).unwrap_err();
        assert_eq!(lost.current.unwrap().spill().read(), 1);
        assert_eq!(lost.new.unwrap().spill().read(), 3);
    }
    let old = slot.compare_exchange(first, Some(census.object(4)), &guard).unwrap();
    assert_eq!(old.unwrap().as_ref().spill().read(), 1);
    assert_eq!(first.unwrap().spill().read(), 1, "its readers keep it");
    let lost = slot.compare_exchange(first, None, &guard).unwrap_err();
    assert_eq!((lost.current.unwrap().spill().read(), lost.new.is_none()), (4, true));
    let old = slot.compare_exchange(lost.current, None, &guard).unwrap();
    assert_eq!(old.unwrap().as_ref().spill().read(), 4);
    assert!(slot.compare_exchange(None, None, &guard).unwrap().is_none());
    drop((guard, other));
    settle(|| census.alive() == 0);
}

#[test]
fn debug_tells_what_copies_hold() {
    let slot = AtomicPerCpu::new(PerCpu::new(|_| 0x5EC2E7_u64));
    let guard = pin();
    let lost = slot.compare_exchange(None, None, &guard).unwrap_err();
    let old = slot.swap(None, &guard).unwrap();
    let texts = [
        format!("{slot:?}"),
        format!("{lost:?} {lost}"),
        format!("{old:?}"),
        format!("{:?} {}", old.wait().unwrap_err(), Pinned::<()>::description()),
    ];
    assert_eq!(texts[0], "AtomicPerCpu { size: 8, null: true, .. }");
    for text in texts {
        assert!(!text.contains(&0x5EC2E7.to_string()), "{text}");
    }
}

trait Description {
    fn description() -> String;
}

impl Description for Pinned<()> {
    fn description() -> String {
        let _guard = pin();
        let error = corelocal::reclaim::wait_for_readers().unwrap_err();
        error.to_string()
    }
}
