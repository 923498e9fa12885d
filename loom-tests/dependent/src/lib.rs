//! A gate that lets jobs in until it is closed, and counts them by CPU: somebody's own lock-free code
//! with one of our counters in it.

use corelocal::PerCpuCounter;

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bit 0: closed. The others: jobs that are inside.
const CLOSED: usize = 1;
const JOB: usize = 2;

/// The gate.
#[derive(Debug)]
pub struct Gate {
    state: AtomicUsize,
    entered: PerCpuCounter,
    refused: PerCpuCounter,
}

impl Gate {
    /// An open one.
    pub fn new() -> Self {
        Self {
            state: AtomicUsize::new(0),
            entered: PerCpuCounter::new(),
            refused: PerCpuCounter::new(),
        }
    }

    /// Goes in, unless the gate is closed.
    pub fn enter(&self) -> bool {
        let before = self.state.fetch_add(JOB, Ordering::Acquire);
        if before & CLOSED != 0 {
            self.state.fetch_sub(JOB, Ordering::Release);
            self.refused.inc();
            return false;
        }
        self.entered.inc();
        true
    }

    /// Goes out again.
    pub fn leave(&self) {
        self.state.fetch_sub(JOB, Ordering::Release);
    }

    /// Closes the gate; whether nobody was inside.
    pub fn close(&self) -> bool {
        self.state.fetch_or(CLOSED, Ordering::Acquire) < JOB
    }

    /// How many jobs went in, and how many were sent away, by what has happened before this call.
    pub fn counts(&self) -> (u64, u64) {
        (self.entered.sum(), self.refused.sum())
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
