//! `PerCpuPool`: bounds, drops, panics, threads, signal handlers, forks, and a model to compare with.
#![cfg(all(feature = "pool", target_os = "linux"))]
#![allow(unsafe_code, reason = "forks, handles signals, counts what the heap is asked for")]

#[path = "../common/mod.rs"]
mod common;

mod bounds;
mod lane;
#[cfg(feature = "testing")]
mod oracle;
mod panics;
mod processes;
mod threads;

use corelocal::pool::PerCpuPool;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// How many objects live, and how many there were.
#[derive(Clone, Debug, Default)]
struct Census(Arc<[AtomicUsize; 2]>);

impl Census {
    fn born(&self) -> Counted {
        let number = self.0[0].fetch_add(1, Ordering::Relaxed);
        Counted { census: self.clone(), number, value: 0 }
    }

    fn made(&self) -> usize {
        self.0[0].load(Ordering::Relaxed)
    }

    fn dropped(&self) -> usize {
        self.0[1].load(Ordering::Relaxed)
    }

    fn alive(&self) -> usize {
        self.made() - self.dropped()
    }
}

/// An object that is counted.
#[derive(Debug)]
struct Counted {
    census: Census,
    number: usize,
    value: usize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.census.0[1].fetch_add(1, Ordering::Relaxed);
    }
}

/// A pool of counted objects, with lanes of 4 and a shared queue of two batches of 2.
fn small() -> (PerCpuPool<Counted>, Census) {
    let census = Census::default();
    let of_pool = census.clone();
    let builder = PerCpuPool::builder(move || of_pool.born()).lane_capacity(4).shared_batches(2);
    (builder.build().unwrap(), census)
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
