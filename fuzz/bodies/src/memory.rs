//! What a body takes from the heap.
#![allow(unsafe_code, reason = "is a global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread took and did not give back. Below zero where it frees others' memory.
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's heap, counted by thread. Every binary that runs a body installs it.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

fn count(bytes: isize) {
    // A thread that is ending has no counts any more, and runs no body.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: passed on to the caller.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Runs `body`, and says how many bytes of the heap it had at most.
pub fn peak<R>(body: impl FnOnce() -> R) -> (R, usize) {
    let before = NOW.get();
    PEAK.set(before);
    let result = body();
    (result, (PEAK.get() - before) as usize)
}

/// Runs `body` over an input of `input` bytes, which may have `factor` times as many bytes of the
/// heap, and `fixed` beside them.
///
/// # Panics
///
/// If it had more, or if [`Counting`] is not this program's heap.
#[track_caller]
pub fn within<R>(input: usize, factor: usize, fixed: usize, body: impl FnOnce() -> R) -> R {
    let (_, seen) = peak(|| drop(std::hint::black_box(vec![0_u8; 4096])));
    assert_eq!(seen, 4096, "the counting heap is not installed");
    let (result, peak) = peak(body);
    let most = input.saturating_mul(factor).saturating_add(fixed);
    assert!(peak <= most, "{peak} bytes of the heap for {input} bytes of input, not {most}");
    result
}
