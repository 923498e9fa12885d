//! What models reach of the gate: readers that count themselves in sections, on a machine of the
//! model's. (By atomics it is the lock itself.)
#![allow(unsafe_code, reason = "lanes of the model's")]

use super::gate::{Count, Gate};
use crate::percpu::{Added, PerCpuCell};
use crate::sync::AtomicUsize;
use crate::sys::rseq::{Atomic, Form, HERE, Machine, NoFence, Outcome, Stride, Words};
use alloc::vec::Vec;

type Lane = [PerCpuCell<usize>; 2];

/// Lanes side by side.
#[derive(Clone, Copy, Debug)]
struct Side;

impl Stride for Side {
    const BYTES: usize = size_of::<Lane>();
}

/// A lane for each CPU of a machine, and the spill lane.
#[derive(Debug)]
struct OnMachine {
    machine: Machine,
    cpus: u32,
    lanes: Vec<Lane>,
}

impl OnMachine {
    /// Adds one to a cell: in sections until one is not cut off, or by an atomic for a thread whose
    /// CPU the machine does not have.
    fn add<F: Form>(&self, which: usize, value: usize, form: F) -> Added {
        let cell = (&raw const self.lanes[0][which]).cast_mut().cast::<usize>();
        let cpu = crate::sys::cpu_hint().filter(|cpu| *cpu < self.cpus);
        loop {
            let outcome = match cpu {
                // SAFETY:
                // - the lanes and the guard are the model's.
                Some(cpu) => unsafe { self.machine.on(cpu).add::<Side, _, _>(cell, value, form) },
                // SAFETY:
                // - as above.
                None => unsafe { Atomic::on_lane(self.cpus).add::<Side, _, _>(cell, value, form) },
            };
            match outcome {
                Outcome::Aborted => crate::sync::pause(0),
                settled => return settled.into(),
            }
        }
    }

    fn sum(&self, which: usize) -> usize {
        self.lanes.iter().fold(0, |sum, lane| sum.wrapping_add(lane[which].load()))
    }
}

impl Count for OnMachine {
    fn enter(&self, word: &AtomicUsize, expect: usize) -> Added {
        self.add(0, 1, HERE.guarded(word, expect))
    }

    fn leave(&self, word: &AtomicUsize, expect: usize) -> Added {
        self.add(1, 1, HERE.guarded(word, expect).release())
    }

    fn enter_shared(&self, _: &AtomicUsize, _: usize) -> Added {
        unreachable!("the gate is not shared")
    }

    fn leave_shared(&self, _: &AtomicUsize, _: usize) -> Added {
        unreachable!("the gate is not shared")
    }

    fn enter_always(&self, readers: usize) {
        let _ = self.add(0, readers, HERE);
    }

    fn leave_always(&self) {
        let _ = self.add(1, 1, HERE.release());
    }

    fn entries(&self) -> usize {
        self.sum(0)
    }

    fn exits(&self) -> usize {
        self.sum(1)
    }

    fn fence(&self) -> Result<(), NoFence> {
        self.machine.fence_all();
        Ok(())
    }
}

/// A gate on a machine.
#[derive(Debug)]
pub struct MachineGate(Gate<OnMachine>);

impl MachineGate {
    /// Open, on so many CPUs.
    pub fn new(cpus: u32) -> Self {
        let lanes = (0..=cpus).map(|_| Lane::default()).collect();
        Self(Gate::new(OnMachine { machine: Machine::new(cpus), cpus, lanes }, false))
    }

    /// Runs `inside` as a reader.
    pub fn read(&self, inside: impl FnOnce()) {
        self.0.enter();
        inside();
        self.0.leave();
    }

    /// The same, if no writer is about. Says whether it did.
    pub fn try_read(&self, inside: impl FnOnce()) -> bool {
        let entered = self.0.try_enter().is_some();
        if entered {
            inside();
            self.0.leave();
        }
        entered
    }

    /// Runs `inside` as the writer.
    pub fn write(&self, inside: impl FnOnce()) {
        self.0.close().expect("the machine has a barrier");
        inside();
        self.0.open(false);
    }

    /// The same, if nobody is about. Says whether it did.
    pub fn try_write(&self, inside: impl FnOnce()) -> bool {
        let closed = self.0.try_close().expect("the machine has a barrier").is_some();
        if closed {
            inside();
            self.0.open(false);
        }
        closed
    }
}
