//! An adversary that decides before each access who goes on, and a checker of what searches answer.
//!
//! The vector is the real one, over words that call an observer before each access. Every CPU's
//! writer and every searcher is a coroutine; the observer gives control back to a random scheduler
//! that starves some of them for a while and hurries others. The checker knows each CPU's levels
//! during a search, and counts broken promises (G1 to G4 of `corelocal::priority`) and, where they are
//! permitted, CPUs that fell and were missed (A1).
//!
//! Interleavings are sequentially consistent: one access after the other. What weaker machines add
//! is for the models, under loom.

mod check;
mod schedule;
mod subject;

pub use check::Broken;
pub use subject::{ByHand, InVector, LEVELS, Order, Subject};

use check::{Answer, Book};
use corelocal::{CpuId, CpuMask};
use fastrand::Rng;
use schedule::{Adversary, pause};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The CPUs of the vector: three words of a mask, two shards of eight.
pub const CPUS: [u32; 10] = [0, 1, 2, 3, 62, 63, 64, 65, 66, 130];
/// Coroutines that search.
const SEARCHERS: usize = 3;
/// A writer that does nothing waits for up to so many steps.
const IDLE: usize = 24;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Searches.
    pub finds: u64,
    /// Changes of a CPU's level.
    pub sets: u64,
    /// Accesses and pauses: how often somebody else could go on.
    pub steps: u64,
    /// Broken promises, and A1.
    pub broken: Broken,
}

/// What the coroutines share.
struct World<S> {
    subject: S,
    book: RefCell<Book>,
    report: Cell<Report>,
    goal: u64,
}

impl<S> World<S> {
    fn count(&self, change: impl FnOnce(&mut Report)) {
        let mut report = self.report.get();
        change(&mut report);
        self.report.set(report);
    }

    fn is_over(&self) -> bool {
        self.report.get().finds >= self.goal
    }
}

/// `finds` searches of `subject`, in the interleaving that `seed` stands for.
pub fn run<S: Subject + 'static>(subject: S, finds: u64, seed: u64) -> Report {
    let mut dice = Rng::with_seed(seed);
    let world = Rc::new(World {
        subject,
        book: RefCell::new(Book::new(CPUS.len(), SEARCHERS)),
        report: Cell::default(),
        goal: finds,
    });
    let mut adversary = Adversary::new();
    for cpu in 0..CPUS.len() {
        let (world, dice) = (world.clone(), dice.fork());
        adversary.add(move || write(&world, cpu, dice));
    }
    for searcher in 0..SEARCHERS {
        let (world, dice) = (world.clone(), dice.fork());
        adversary.add(move || search(&world, searcher, dice));
    }
    let steps = adversary.run(&mut dice);
    world.count(|report| report.steps = steps);
    world.report.get()
}

/// One CPU: it rises in small steps, falls, goes away and comes back.
fn write<S: Subject>(world: &World<S>, cpu: usize, mut dice: Rng) {
    let mut level: Option<u8> = None;
    while !world.is_over() {
        for _ in 0..dice.usize(..IDLE) {
            pause();
        }
        let next = match dice.u8(..20) {
            0 => None,
            1..=3 => Some(dice.u8(..LEVELS as u8)),
            4..=9 => level.map_or(Some(0), |level| Some(level - dice.u8(..=level.min(2)))),
            _ => level.map_or(Some(0), |level| Some((level + dice.u8(1..3)).min(LEVELS as u8 - 1))),
        };
        if next == level {
            continue;
        }
        world.book.borrow_mut().begin_set(cpu, next);
        world.subject.set(cpu, next);
        world.book.borrow_mut().end_set(cpu);
        world.count(|report| report.sets += 1);
        level = next;
    }
}

/// Searches of every kind, for few CPUs and for many.
fn search<S: Subject>(world: &World<S>, searcher: usize, mut dice: Rng) {
    let mut found = CpuMask::with_bound(192);
    while !world.is_over() {
        pause();
        let (allowed, fit) = (some(&mut dice), some(&mut dice));
        let below = dice.u8(..=LEVELS as u8);
        let kind = dice.u8(..8);
        world.book.borrow_mut().begin_find(searcher);
        let (allowed_cpus, fit_cpus) = (cpus(allowed), cpus(fit));
        let level = match kind {
            0 => {
                let near = CpuId::new(CPUS[dice.usize(..CPUS.len())]);
                world.subject.find_any(below, &allowed_cpus, near, &mut found)
            }
            1 => world.subject.find_fit(below, &allowed_cpus, &fit_cpus, &mut found),
            2 => world.subject.find_among(below, &allowed_cpus, &mut found),
            _ => world.subject.find(below, &allowed_cpus, &mut found),
        };
        let answer = Answer { level, found: bits(&found), below, is_whole: kind != 0 };
        let mut book = world.book.borrow_mut();
        let broken = match kind {
            1 => book.end_find_fit(searcher, answer, allowed, fit),
            _ => book.end_find(searcher, answer, allowed),
        };
        drop(book);
        world.count(|report| {
            report.finds += 1;
            report.broken.add(broken);
        });
    }
}

/// One or two CPUs, any, or all.
fn some(dice: &mut Rng) -> u16 {
    let all = (1 << CPUS.len()) - 1;
    let one = 1 << dice.usize(..CPUS.len());
    match dice.u8(..8) {
        0..=3 => one | 1 << dice.usize(..CPUS.len()),
        4..=6 => dice.u16(..) & all | one,
        _ => all,
    }
}

/// The CPUs of `bits`, which are numbers in [`CPUS`].
fn cpus(bits: u16) -> CpuMask {
    let is_in = |at: &usize| bits >> at & 1 != 0;
    (0..CPUS.len()).filter(is_in).map(|at| CpuId::new(CPUS[at])).collect()
}

/// The reverse; a CPU that is not in [`CPUS`] is the last bit.
fn bits(cpus: &CpuMask) -> u16 {
    let at = |cpu: CpuId| CPUS.iter().position(|known| *known == cpu.get()).unwrap_or(15);
    cpus.iter().fold(0, |bits, cpu| bits | 1 << at(cpu))
}
