//! `PerCpuRing`: bounds, order, threads, signal handlers, forks, and deques to compare with.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "forks, handles signals, counts what the heap is asked for")]

#[path = "../common/mod.rs"]
mod common;

mod bounds;
#[cfg(feature = "testing")]
mod disturbed;
#[cfg(feature = "testing")]
mod oracle;
mod processes;
#[cfg(feature = "testing")]
#[path = "../../fuzz/bodies/src/rings.rs"]
#[allow(unreachable_pub, reason = "a library's module elsewhere")]
mod rings;
mod threads;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's heap, with a count of what each thread asked of it.
struct Counting;

thread_local! { static ASKED: Cell<u64> = const { Cell::new(0) }; }

// SAFETY: passes everything on to the system's allocator, and counts without allocating.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
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

/// What this thread asked of the heap so far.
fn asked() -> u64 {
    ASKED.with(Cell::get)
}

/// Runs `body` on a thread that stays on one CPU.
fn pinned<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            common::pin(common::allowed()[0]).unwrap();
            body()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
