//! The contract as a model: a CPU is a token, and a section that loses it is cut off.
//!
//! On one CPU at most one thread is inside a section; another thread that begins one there, or
//! a fence, takes the token away. Every step of a section looks whether the token is still its
//! own, and has no effect otherwise: that is what the kernel does, which cuts a thread off
//! before its next instruction. A CPU's mutex orders what its sections do one after the other,
//! as the switch between two threads of a CPU does.
//!
//! Under loom the words are loom's, and every interleaving of steps is explored; without loom
//! the same runs on real threads.
#![allow(unsafe_code, reason = "lanes are reached by address")]

use super::atomic::is_closed;
use super::steps::Stepped;
use super::{Anchor, Form, Int, Outcome, Stride, Word, Words, update};
use crate::sync::{AtomicUsize, Mutex, Ordering, fence};
use alloc::boxed::Box;

/// CPUs to run sections on.
#[derive(Debug)]
pub struct Machine {
    /// Who is in a section on each CPU; 0 is nobody.
    cpus: Box<[Mutex<usize>]>,
    tickets: AtomicUsize,
}

impl Machine {
    /// A machine with this many CPUs.
    pub fn new(cpus: u32) -> Self {
        let cpus = (0..cpus).map(|_| Mutex::new(0)).collect();
        Self { cpus, tickets: AtomicUsize::new(1) }
    }

    /// A thread on `cpu`; an id that the machine does not have is one that is not known.
    pub fn on(&self, cpu: u32) -> Model<'_> {
        Model { machine: self, cpu }
    }

    /// Returns when no section is running on `cpu` that began before.
    ///
    /// # Panics
    ///
    /// If there is no such CPU.
    pub fn fence_cpu(&self, cpu: u32) {
        // [E24, E52]: the kernel's barrier is a full one, for the caller too. One fence is that: between
        // it and another behind the lock nothing would lie but the lock, and with sections it is the
        // lock that orders, both ways, since their steps hold it.
        fence(Ordering::SeqCst);
        *self.cpus[cpu as usize].lock().unwrap() = 0;
    }

    /// [`fence_cpu`](Self::fence_cpu) for every CPU.
    pub fn fence_all(&self) {
        (0..self.cpus.len() as u32).for_each(|cpu| self.fence_cpu(cpu));
    }

    fn enter(&self, cpu: u32) -> Option<Section<'_>> {
        let token = self.cpus.get(cpu as usize)?;
        // Relaxed: tickets only differ.
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        *token.lock().unwrap() = ticket;
        Some(Section { token, ticket })
    }
}

/// A section that has begun.
struct Section<'m> {
    token: &'m Mutex<usize>,
    ticket: usize,
}

impl Section<'_> {
    /// One step, unless the section has been cut off.
    fn step<T>(&self, step: impl FnOnce() -> T) -> Option<T> {
        let owner = self.token.lock().unwrap();
        (*owner == self.ticket).then(step)
    }
}

/// One attempt at an operation, by a thread on one CPU of a [`Machine`].
#[derive(Clone, Copy, Debug)]
pub struct Model<'m> {
    machine: &'m Machine,
    cpu: u32,
}

impl Model<'_> {
    /// The steps that every operation begins with.
    ///
    /// # Safety
    ///
    /// See [`Contract`](super::Contract).
    unsafe fn begin<F: Form, T>(&self, form: F) -> Result<Section<'_>, Outcome<T>> {
        let Some(section) = self.machine.enter(self.cpu) else {
            return Err(if F::ON { Outcome::Moved } else { Outcome::Nowhere });
        };
        if F::ON && form.cpu() != self.cpu {
            return Err(Outcome::Moved);
        }
        // SAFETY:
        // - as the caller promised of the guard.
        match section.step(|| unsafe { is_closed(form) }) {
            None => Err(Outcome::Aborted),
            Some(true) => Err(Outcome::Closed),
            Some(false) => Ok(section),
        }
    }

    /// # Safety
    ///
    /// See [`Contract`](super::Contract).
    unsafe fn word<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        form: F,
        decide: impl FnOnce(W) -> Option<W>,
    ) -> Outcome<W> {
        let lane = self.cpu;
        // SAFETY:
        // - the caller's obligations are the same.
        let section = match unsafe { self.begin(form) } {
            Ok(section) => section,
            Err(outcome) => return outcome,
        };
        let place = word.wrapping_byte_add(lane as usize * S::BYTES);
        // SAFETY:
        // - a live word lies there, and is used as an atomic only (`Contract`).
        let place = unsafe { &*place.cast::<W::Atomic>() };
        // Relaxed: sections of one CPU are ordered by the switch between its threads.
        let Some(old) = section.step(|| W::load(place, Ordering::Relaxed)) else {
            return Outcome::Aborted;
        };
        let Some(new) = decide(old) else { return Outcome::Differs { lane, value: old } };
        match section.step(|| new.store(place, order::<F>())) {
            Some(()) => Outcome::Committed { lane, value: old },
            None => Outcome::Aborted,
        }
    }
}

/// How the commit is stored.
fn order<F: Form>() -> Ordering {
    // Release [E23]: pairs with the Acquire of whoever asked for this form. Relaxed else.
    if F::RELEASE { Ordering::Release } else { Ordering::Relaxed }
}

impl Stepped for Model<'_> {
    unsafe fn anchored<S: Stride, F: Form>(
        self,
        anchor: *mut Anchor,
        form: F,
        step: impl FnOnce(*mut u8, usize) -> Result<(usize, usize), usize>,
    ) -> Outcome<usize> {
        let lane = self.cpu;
        // SAFETY:
        // - the caller's obligations are the same.
        let section = match unsafe { self.begin(form) } {
            Ok(section) => section,
            Err(outcome) => return outcome,
        };
        let place = anchor.wrapping_byte_add(lane as usize * S::BYTES);
        // SAFETY:
        // - a live anchor lies there (`Contract`).
        let anchor = unsafe { &*place };
        // Relaxed: as in `word`.
        let Some(word) = section.step(|| anchor.word.load(Ordering::Relaxed)) else {
            return Outcome::Aborted;
        };
        let (new, value) = match section.step(|| step(place.cast(), word)) {
            None => return Outcome::Aborted,
            Some(Err(value)) => return Outcome::Differs { lane, value },
            Some(Ok(done)) => done,
        };
        match section.step(|| anchor.word.store(new, order::<F>())) {
            Some(()) => Outcome::Committed { lane, value },
            None => Outcome::Aborted,
        }
    }
}

impl Words for Model<'_> {
    unsafe fn add<S: Stride, W: Int, F: Form>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<()> {
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.update::<S, W, F, { update::ADD }>(word, value, form) }.map(|_| ())
    }

    unsafe fn update<S: Stride, W: Int, F: Form, const OP: u32>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        let combine = |old: W| {
            Some(W::of(match OP {
                update::ADD => old.bits().wrapping_add(value.bits()),
                update::AND => old.bits() & value.bits(),
                update::OR => old.bits() | value.bits(),
                _ => old.bits() ^ value.bits(),
            }))
        };
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.word::<S, W, F>(word, form, combine) }
    }

    unsafe fn swap<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.word::<S, W, F>(word, form, |_| Some(value)) }
    }

    unsafe fn compare_store<S: Stride, W: Word, F: Form>(
        self,
        word: *mut W,
        expect: W,
        value: W,
        form: F,
    ) -> Outcome<W> {
        // SAFETY:
        // - the caller's obligations are the same.
        unsafe { self.word::<S, W, F>(word, form, |old| (old == expect).then_some(value)) }
    }
}
