//! Panics where nobody expects them: in callbacks and drops, which run on any thread.

use crate::{Census, lanes, settle};
use corelocal::reclaim::pin;
use corelocal::{AtomicPerCpu, PerCpu};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One guard's functions lie in one bag: a panic in the first must not lose the second.
#[test]
fn a_callback_that_panics_loses_those_behind_it() {
    let census = Census::default();
    let slots = [1, 2, 3].map(|number| AtomicPerCpu::new(census.object(number)));
    let guard = pin();
    slots[0].swap(None, &guard).unwrap().retire_with(&guard, |_| panic!("on purpose"));
    slots[1].swap(None, &guard).unwrap().retire_with(&guard, |_| {
        std::panic::panic_any(PanicsAgain);
    });
    slots[2].swap(None, &guard).unwrap().retire(&guard);
    drop(guard);
    // All three: what the panicking ones had was dropped on the way.
    settle(|| census.alive() == 0);
}

struct PanicsAgain;

impl Drop for PanicsAgain {
    fn drop(&mut self) {
        panic!("a payload on purpose");
    }
}

/// The second list may still lead to it.
#[test]
fn an_object_whose_unregistration_panicked_is_freed() {
    let census = Census::default();
    let slots = [1, 2].map(|number| AtomicPerCpu::new(census.object(number)));
    let guard = pin();
    slots[0].swap(None, &guard).unwrap().retire_in_stages(&guard, |_| panic!("on purpose"));
    slots[1].swap(None, &guard).unwrap().retire_in_stages(&guard, |_| {});
    drop(guard);
    settle(|| census.dropped() >= lanes());
    crate::hurry();
    assert_eq!(census.alive(), lanes(), "the first one is leaked, the second one freed");
}

/// Its first copy panics when it is dropped.
struct Bad(bool, Arc<AtomicUsize>);

impl Drop for Bad {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
        assert!(!self.0, "a drop on purpose");
    }
}

#[test]
fn a_drop_that_panics_leaks_the_other_copies_and_what_is_behind_it() {
    let (census, dropped) = (Census::default(), Arc::new(AtomicUsize::new(0)));
    let bad = PerCpu::new(|lane| Bad(lane.index() == 0, Arc::clone(&dropped)));
    let (first, second) = (AtomicPerCpu::new(bad), AtomicPerCpu::new(census.object(1)));
    let guard = pin();
    first.retire(&guard);
    second.retire(&guard);
    drop(guard);
    settle(|| census.alive() == 0);
    assert_eq!(dropped.load(Ordering::Relaxed), lanes());
}
