//! `AtomicPerCpu`: what is freed when, by whom, whatever panics; and a model to compare with.
#![cfg(all(feature = "epoch", target_os = "linux"))]
#![allow(unsafe_code, reason = "a second list, which no lifetime guards; guards of all kinds")]

#[path = "../common/mod.rs"]
mod common;

mod guards;
mod oracle;
mod panics;
mod slot;
mod threads;

use corelocal::reclaim::pin;
use corelocal::{Area, PerCpu};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many copies live, and how many there were.
#[derive(Clone, Debug, Default)]
struct Census(Arc<[AtomicUsize; 2]>);

impl Census {
    /// An object whose copies say `number`.
    fn object(&self, number: usize) -> PerCpu<Counted> {
        PerCpu::new(|_| {
            self.0[0].fetch_add(1, Ordering::Relaxed);
            Counted { census: self.clone(), number, state: AtomicUsize::new(ALIVE) }
        })
    }

    fn dropped(&self) -> usize {
        self.0[1].load(Ordering::Relaxed)
    }

    fn alive(&self) -> usize {
        self.0[0].load(Ordering::Relaxed) - self.dropped()
    }
}

const ALIVE: usize = 0x5EED_11FE;

/// A copy that knows whether it was dropped.
#[derive(Debug)]
struct Counted {
    census: Census,
    number: usize,
    state: AtomicUsize,
}

impl Counted {
    /// The copy's number.
    #[track_caller]
    fn read(&self) -> usize {
        assert_eq!(self.state.load(Ordering::Relaxed), ALIVE, "read after it was dropped");
        self.number
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let state = self.state.swap(0, Ordering::Relaxed);
        assert_eq!(state, ALIVE, "dropped twice");
        self.census.0[1].fetch_add(1, Ordering::Relaxed);
    }
}

fn lanes() -> usize {
    Area::global().lanes()
}

/// Runs deferred functions until `done`. Other tests' threads may be in the way for a while.
#[track_caller]
fn settle(done: impl Fn() -> bool) {
    for turn in 0..60_000 {
        if done() {
            return;
        }
        pin().flush();
        if turn > 100 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    panic!("what was deferred was not run");
}

/// Gives deferred functions every occasion to run.
fn hurry() {
    (0..300).for_each(|_| pin().flush());
}
