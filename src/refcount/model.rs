//! What models reach of a count: the protocol over sections that lose their CPU.
#![allow(unsafe_code, reason = "lanes are reached by address")]

use super::error::KillError;
use super::lanes::{Lanes, counted};
use super::protocol::{self, SECTIONS};
use super::word::UNIT;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::sys::rseq::{
    Atomic, HERE, Machine, NoFence, Outcome, Stride, Word as _, Words as _, update,
};

/// Where a thread of a model counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// On the one CPU, by sections.
    OnCpu,
    /// On the spill lane, by atomics.
    Spilling,
}

/// Words side by side.
struct Side;

impl Stride for Side {
    const BYTES: usize = size_of::<AtomicU64>();
}

/// A count with sections, on a machine of one CPU.
#[derive(Debug)]
pub struct RefCount {
    machine: Machine,
    mode: AtomicUsize,
    /// The CPU's lane, and the spill lane.
    words: [AtomicU64; 2],
    /// Whether the barrier is refused.
    refuses: AtomicUsize,
}

/// The way of one thread to the words.
#[derive(Clone, Copy)]
struct Way<'a> {
    count: &'a RefCount,
    who: Who,
}

impl Way<'_> {
    /// As the entry points do: a section, again if it was cut off; or an atomic on the spill lane.
    fn add<const RELEASE: bool>(self, value: u64, mode: &AtomicUsize) -> Outcome<u64> {
        const ADD: u32 = update::ADD;
        let word: *mut u64 = (&raw const self.count.words[0]).cast_mut().cast();
        let form = HERE.guarded_in_sections(mode, SECTIONS);
        let spill = Atomic::on_lane(1);
        loop {
            let on = self.count.machine.on(0);
            let outcome = match (self.who, RELEASE) {
                // SAFETY:
                // - the lanes are the model's, and the guard is its own.
                (Who::OnCpu, true) => unsafe {
                    on.update::<Side, u64, _, ADD>(word, value, form.release())
                },
                // SAFETY:
                // - as above.
                (Who::OnCpu, false) => unsafe { on.update::<Side, u64, _, ADD>(word, value, form) },
                // SAFETY:
                // - as above.
                (Who::Spilling, true) => unsafe {
                    spill.update::<Side, u64, _, ADD>(word, value, form.release())
                },
                // SAFETY:
                // - as above.
                (Who::Spilling, false) => unsafe {
                    spill.update::<Side, u64, _, ADD>(word, value, form)
                },
            };
            match outcome {
                Outcome::Aborted => crate::sync::pause(0),
                settled => return settled,
            }
        }
    }
}

impl Lanes for Way<'_> {
    fn get(self, mode: &AtomicUsize) -> u64 {
        counted(self.add::<false>(UNIT, mode))
    }

    fn put(self, mode: &AtomicUsize) -> u64 {
        counted(self.add::<true>(UNIT.wrapping_neg(), mode))
    }

    fn total(&self) -> &AtomicU64 {
        &self.count.words[1]
    }

    fn fence(self) -> Result<(), NoFence> {
        // Relaxed: the model's own.
        if self.count.refuses.load(Ordering::Relaxed) != 0 {
            return Err(NoFence);
        }
        self.count.machine.fence_all();
        Ok(())
    }

    fn sum(self) -> u64 {
        // Relaxed: [E24], as in the lanes of an area.
        u64::load(&self.count.words[0], Ordering::Relaxed)
    }

    fn close(self) -> u64 {
        unreachable!("lanes are closed where there are no sections")
    }
}

impl Default for RefCount {
    fn default() -> Self {
        Self::new()
    }
}

impl RefCount {
    /// A count of one.
    pub fn new() -> Self {
        Self {
            machine: Machine::new(1),
            mode: AtomicUsize::new(SECTIONS),
            words: [AtomicU64::new(0), AtomicU64::new(protocol::first_total(SECTIONS))],
            refuses: AtomicUsize::new(0),
        }
    }

    fn way(&self, who: Who) -> Way<'_> {
        Way { count: self, who }
    }

    /// A reference more.
    pub fn get(&self, who: Who) {
        protocol::get(self.way(who), &self.mode);
    }

    /// A reference more, unless the end has come.
    pub fn try_get(&self, who: Who) -> bool {
        protocol::try_get(self.way(who), &self.mode)
    }

    /// A reference less. `true`: the end.
    pub fn put(&self, who: Who) -> bool {
        protocol::put(self.way(who), &self.mode)
    }

    /// Ends the counting in lanes.
    ///
    /// # Errors
    ///
    /// [`KillError`].
    pub fn kill(&self, who: Who) -> Result<(), KillError> {
        protocol::kill(self.way(who), &self.mode)
    }

    /// Whether the barrier is refused from here on.
    pub fn refuse_barrier(&self, refuse: bool) {
        // Relaxed: the model's own.
        self.refuses.store(usize::from(refuse), Ordering::Relaxed);
    }

    /// How many there are.
    pub fn references(&self) -> u64 {
        protocol::references(self.way(Who::OnCpu))
    }
}
