//! A heap that refuses: constructors that promise an error give one, whichever request is refused,
//! and nothing aborts.
#![cfg(feature = "std")]
#![allow(unsafe_code, reason = "is a global allocator")]

use corelocal::{
    AllocError, Area, BatchedCounter, ByCpu, CounterSet, CpuId, CpuMask, Packed, Padded,
    PriorityVec, Split, Topology, priority::Layout,
};
use std::alloc::{GlobalAlloc, System};
use std::cell::Cell;

std::thread_local! {
    /// How many requests of this thread are granted before one is refused.
    static GRANTED: Cell<Option<usize>> = const { Cell::new(None) };
}

struct Refusing;

// SAFETY: passes on to the system's allocator what it does not refuse.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        if let Some(granted) = GRANTED.get() {
            GRANTED.set(granted.checked_sub(1));
            if granted == 0 {
                return std::ptr::null_mut();
            }
        }
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: std::alloc::Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static HEAP: Refusing = Refusing;

/// Refuses one request after the other until there is none left to refuse; says how many there
/// were.
fn refuse_each<T, E: std::fmt::Debug>(make: impl Fn() -> Result<T, E>) -> usize {
    for granted in 0.. {
        GRANTED.set(Some(granted));
        let made = make();
        // What is left says whether the refusal was reached.
        let is_reached = GRANTED.replace(None).is_none();
        assert_eq!(made.is_err(), is_reached, "request {granted}: {:?}", made.err());
        if !is_reached {
            return granted;
        }
    }
    unreachable!("a constructor makes finitely many requests")
}

fn vectors<L: Layout>() {
    let order: Vec<CpuId> = (0..700).rev().map(CpuId::new).collect();
    assert!(refuse_each(|| PriorityVec::<L>::try_new(&order)) > 3, "{}", L::NAME);
    let machine = Topology::current();
    // A topology reads the machine's files at the first questions, and makes no such promise.
    let _ = (machine.node_of(order[0]), machine.llc_of(order[0]), machine.core_of(order[0]));
    assert!(refuse_each(|| PriorityVec::<L>::with_topology(machine)) > 3, "{}", L::NAME);
    let (vector, some) = (PriorityVec::<L>::try_new(&order).unwrap(), CpuMask::first_cpus(600));
    assert_eq!(refuse_each(|| PriorityVec::among(&vector, &some)), 1, "{}", L::NAME);
}

#[test]
fn a_vector_without_memory_is_an_error() {
    vectors::<Packed>();
    vectors::<Padded>();
    vectors::<Split>();
    vectors::<ByCpu>();
    vectors::<ByCpu<8>>();
}

#[test]
fn counters_without_memory_are_an_error() {
    let area = Area::builder().cpus(64).build().unwrap();
    // The lanes come from the system; what is beside them does not.
    let _first = CounterSet::in_area(&area, 1).unwrap();
    assert!(refuse_each(|| CounterSet::in_area(&area, 3000)) > 0);
    assert!(refuse_each(|| BatchedCounter::in_area(&area, 32)) > 0);
    GRANTED.set(Some(0));
    let refused = CounterSet::in_area(&area, 3000).err();
    GRANTED.set(None);
    assert!(matches!(refused, Some(AllocError::OutOfMemory { .. })), "{refused:?}");
}
