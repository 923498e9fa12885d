//! What is checked: the vector in each layout, and levels that are entered and left by hand.

use super::CPUS;
use corelocal::priority::observed::Observed;
use corelocal::priority::{Layout, Word, Words};
use corelocal::{CpuId, CpuMask, CpuSlot, Level, Packed, Priority, PriorityVec};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Few, so that searches are short and CPUs meet.
pub const LEVELS: usize = 8;

/// Something that says which CPU is at which level.
pub trait Subject {
    /// The CPU number `at` of [`CPUS`] goes to `level`.
    fn set(&self, at: usize, level: Option<u8>);

    /// The lowest level below `below` with an allowed CPU, and who is there.
    fn find(&self, below: u8, allowed: &CpuMask, found: &mut CpuMask) -> Option<u8>;

    /// The same, with a mask that was laid out before.
    fn find_among(&self, below: u8, allowed: &CpuMask, found: &mut CpuMask) -> Option<u8> {
        self.find(below, allowed, found)
    }

    /// The same, of CPUs that fit if there are any.
    fn find_fit(
        &self,
        below: u8,
        allowed: &CpuMask,
        fit: &CpuMask,
        found: &mut CpuMask,
    ) -> Option<u8>;

    /// The same, one of them.
    fn find_any(
        &self,
        below: u8,
        allowed: &CpuMask,
        near: CpuId,
        found: &mut CpuMask,
    ) -> Option<u8>;
}

type Vector<L> = PriorityVec<L, LEVELS, Observed>;

/// A vector and its slots.
#[allow(missing_debug_implementations, reason = "for a checker alone")]
pub struct InVector<L: Layout> {
    vector: Rc<Vector<L>>,
    slots: Vec<RefCell<CpuSlot<Rc<Vector<L>>>>>,
}

impl<L: Layout> InVector<L> {
    /// All CPUs at no level.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    #[allow(clippy::new_without_default, reason = "it allocates")]
    pub fn new() -> Self {
        let vector = Rc::new(Vector::try_new(CPUS.map(CpuId::new)).expect("memory"));
        let slots = CPUS.iter().map(|cpu| {
            let slot = PriorityVec::claim(vector.clone(), CpuId::new(*cpu));
            RefCell::new(slot.expect("nobody has it"))
        });
        Self { slots: slots.collect(), vector }
    }
}

fn priority(level: u8) -> Priority {
    Priority::from_level(level).expect("a level")
}

fn level(priority: Priority) -> u8 {
    priority.level().expect("an answer has a level")
}

impl<L: Layout> Subject for InVector<L> {
    fn set(&self, at: usize, level: Option<u8>) {
        let priority = level.map_or(Priority::INVALID, priority);
        self.slots[at].borrow_mut().set(priority).expect("a level of the vector");
    }

    fn find(&self, below: u8, allowed: &CpuMask, found: &mut CpuMask) -> Option<u8> {
        self.vector.find(priority(below), allowed, found).map(level)
    }

    fn find_among(&self, below: u8, allowed: &CpuMask, found: &mut CpuMask) -> Option<u8> {
        let among = PriorityVec::among(&*self.vector, allowed).expect("memory");
        among.find(priority(below), found).map(level)
    }

    fn find_fit(
        &self,
        below: u8,
        allowed: &CpuMask,
        fit: &CpuMask,
        found: &mut CpuMask,
    ) -> Option<u8> {
        self.vector.find_fit(priority(below), allowed, fit, found).map(level)
    }

    fn find_any(
        &self,
        below: u8,
        allowed: &CpuMask,
        near: CpuId,
        found: &mut CpuMask,
    ) -> Option<u8> {
        found.clear();
        let (cpu, priority) = self.vector.find_any(priority(below), allowed, near)?;
        found.insert(cpu);
        Some(level(priority))
    }
}

/// In which order a CPU changes its level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The new level first: right.
    EnterThenLeave,
    /// The old level first: a CPU is nowhere for a moment. The checker must notice.
    LeaveThenEnter,
}

type Words3 = [<Observed as Words>::U64; 3];

/// Levels, entered and left by hand.
#[allow(missing_debug_implementations, reason = "for a checker alone")]
pub struct ByHand {
    levels: Vec<Level<Words3, Packed, Observed>>,
    order: Order,
    now: [Cell<Option<u8>>; CPUS.len()],
}

impl ByHand {
    /// All CPUs at no level.
    pub fn new(order: Order) -> Self {
        let level = || Level::new(std::array::from_fn(|_| Word::new(0)));
        let levels = (0..LEVELS).map(|_| level()).collect();
        Self { levels, order, now: Default::default() }
    }
}

impl Subject for ByHand {
    fn set(&self, at: usize, level: Option<u8>) {
        let cpu = CpuId::new(CPUS[at]);
        let old = self.now[at].replace(level);
        let enter = || level.map(|level| self.levels[usize::from(level)].enter(cpu));
        let leave = || old.map(|old| self.levels[usize::from(old)].leave(cpu));
        let done = match self.order {
            Order::EnterThenLeave => [enter(), leave()],
            Order::LeaveThenEnter => [leave(), enter()],
        };
        assert!(done.iter().flatten().all(|done| *done == Ok(true)), "a CPU is at one level");
    }

    fn find(&self, below: u8, allowed: &CpuMask, found: &mut CpuMask) -> Option<u8> {
        found.clear();
        (0..below).find(|level| self.levels[usize::from(*level)].find(allowed, found))
    }

    fn find_fit(
        &self,
        below: u8,
        allowed: &CpuMask,
        fit: &CpuMask,
        found: &mut CpuMask,
    ) -> Option<u8> {
        let mut both = allowed.clone();
        both &= fit;
        self.find(below, &both, found).or_else(|| self.find(below, allowed, found))
    }

    fn find_any(
        &self,
        below: u8,
        allowed: &CpuMask,
        _near: CpuId,
        found: &mut CpuMask,
    ) -> Option<u8> {
        let level = self.find(below, allowed, found);
        let first = found.first();
        found.retain(|cpu| Some(cpu) == first);
        level
    }
}
