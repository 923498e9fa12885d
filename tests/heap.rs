//! A program's heap that is itself built on the crate: nothing the crate does may need the heap
//! before it can answer, or the first request goes round in circles until the stack is gone.
#![cfg(feature = "std")]
#![allow(unsafe_code, reason = "is a global allocator")]

use corelocal::{PerCpuCell, per_cpu};
use std::alloc::{GlobalAlloc, Layout, System};

per_cpu! {
    static REQUESTS: PerCpuCell<u64>;
    static BYTES: PerCpuCell<u64> = |_| PerCpuCell::new(0);
}

/// The system's heap, which counts in per-CPU statics from its very first request on.
struct Counting;

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A heap must not panic, so it does without the counts where there is no memory for them.
        if let (Ok(requests), Ok(bytes)) = (REQUESTS.try_as_ref(), BYTES.try_as_ref()) {
            requests.inc();
            bytes.add(layout.size() as u64);
        }
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// The first use of the statics is a request to the heap, before `main`: with a heap needed for
/// the number of CPUs this program ends in a stack overflow before the test is reached.
#[test]
fn a_heap_that_counts_in_per_cpu_statics_counts_its_first_request() {
    let before = (REQUESTS.sum(), BYTES.sum());
    assert!(before.0 > 0 && before.1 > 0, "the test's harness takes from the heap");
    drop(std::hint::black_box(vec![0_u8; 10_000]));
    assert!(REQUESTS.sum() > before.0);
    assert!(BYTES.sum() >= before.1 + 10_000);
}
