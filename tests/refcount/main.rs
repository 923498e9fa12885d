//! `PerCpuRefCount` and `PerCpuArc`: what is told at the end, and when; drops, panics, threads, signal
//! handlers, forks, and an `Arc` and a number to compare with.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "forks and handles signals")]

#[path = "../common/mod.rs"]
mod common;

mod arcs;
mod counts;
#[cfg(feature = "testing")]
mod disturbed;
#[cfg(feature = "testing")]
mod oracle;
mod processes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value that says how often it was dropped.
#[derive(Debug, Default)]
struct Value {
    drops: Arc<AtomicUsize>,
    /// Of the value itself: a second one that is read.
    canary: u64,
}

impl Value {
    fn new() -> (Self, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        (Self { drops: Arc::clone(&drops), canary: ALIVE }, drops)
    }

    fn look(&self) {
        assert_eq!(self.canary, ALIVE, "used after its drop");
    }
}

const ALIVE: u64 = 0x0a11_5e11;

impl Drop for Value {
    fn drop(&mut self) {
        self.look();
        self.canary = 0;
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

fn count(drops: &AtomicUsize) -> usize {
    drops.load(Ordering::Relaxed)
}
