//! What the models of `corelocal::priority` share: a small vector, its slots, and searches that
//! check what every answer must have.

use crate::Arc;
use corelocal::priority::Layout;
use corelocal::{CpuId, CpuMask, CpuSlot, Priority, PriorityVec};
use std::fmt;
use std::sync::{Mutex, MutexGuard};

/// Levels of the vectors: few, since each is a mask of atomics.
pub const LEVELS: usize = 4;

/// The vector of a model.
pub type Vector<L> = PriorityVec<L, LEVELS>;

/// A layout's name as a value, so that a model is one function for all of them.
pub trait AnyLayout: Layout + Copy + Send + Sync {}
impl<L: Layout + Copy + Send + Sync> AnyLayout for L {}

/// Level `level`; below 0: none.
///
/// # Panics
///
/// If there can be no such level.
pub fn priority(level: i8) -> Priority {
    match u8::try_from(level) {
        Ok(level) => Priority::from_level(level).expect("a level"),
        Err(_) => Priority::INVALID,
    }
}

/// What a search answered: the level, and the CPUs.
pub type Answer = Option<(i8, Vec<u32>)>;

type Slot<L> = CpuSlot<Arc<Vector<L>>>;

/// A vector, and the slots of its CPUs.
pub struct Shared<L: AnyLayout> {
    /// The vector.
    pub vector: Arc<Vector<L>>,
    slots: Vec<Mutex<Option<Slot<L>>>>,
}

impl<L: AnyLayout> fmt::Debug for Shared<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("vector", &self.vector).finish_non_exhaustive()
    }
}

impl<L: AnyLayout> Shared<L> {
    /// CPUs `0..levels.len()`, each claimed and at its level.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    #[allow(clippy::new_ret_no_self, reason = "every thread of a model has a handle")]
    pub fn new(_: L, levels: &[i8]) -> Arc<Self> {
        let cpus = (0..levels.len()).map(|cpu| CpuId::new(cpu as u32));
        let vector = Arc::new(Vector::try_new(cpus.clone()).expect("memory for a model"));
        let slots = cpus.map(|cpu| {
            let slot = PriorityVec::claim(vector.clone(), cpu).expect("nobody has it");
            Mutex::new(Some(slot))
        });
        let shared = Self { slots: slots.collect(), vector };
        for (cpu, level) in levels.iter().enumerate() {
            shared.set(cpu, *level);
        }
        Arc::new(shared)
    }

    /// One thread at a time uses a slot, so this never waits.
    fn slot(&self, cpu: usize) -> MutexGuard<'_, Option<Slot<L>>> {
        self.slots[cpu].try_lock().expect("a model has one writer a CPU")
    }

    /// The CPU's one writer moves it.
    ///
    /// # Panics
    ///
    /// If the slot was dropped.
    pub fn set(&self, cpu: usize, level: i8) {
        let mut slot = self.slot(cpu);
        slot.as_mut().expect("the slot is here").set(priority(level)).expect("a level");
    }

    /// Drops the CPU's slot.
    pub fn drop_slot(&self, cpu: usize) {
        let slot = self.slot(cpu).take();
        drop(slot);
    }

    /// Searches with level `below` for the CPUs of `allowed`.
    ///
    /// # Panics
    ///
    /// If an answer is no answer: G4, and the first half of G1.
    #[track_caller]
    pub fn find(&self, below: i8, allowed: &[u32]) -> Answer {
        self.answer(below, allowed, |vector, allowed, found| {
            vector.find(priority(below), allowed, found)
        })
    }

    /// The same, of CPUs in `fit` first.
    ///
    /// # Panics
    ///
    /// As [`find`](Self::find).
    #[track_caller]
    pub fn find_fit(&self, below: i8, allowed: &[u32], fit: &[u32]) -> Answer {
        let fits = mask(fit);
        self.answer(below, allowed, |vector, allowed, found| {
            vector.find_fit(priority(below), allowed, &fits, found)
        })
    }

    /// The same, one CPU.
    ///
    /// # Panics
    ///
    /// As [`find`](Self::find).
    #[track_caller]
    pub fn find_any(&self, below: i8, allowed: &[u32], near: u32) -> Answer {
        self.answer(below, allowed, |vector, allowed, found| {
            let near = CpuId::new(near);
            let (cpu, level) = vector.find_any(priority(below), allowed, near)?;
            found.insert(cpu);
            Some(level)
        })
    }

    #[track_caller]
    fn answer(
        &self,
        below: i8,
        allowed: &[u32],
        search: impl FnOnce(&Vector<L>, &CpuMask, &mut CpuMask) -> Option<Priority>,
    ) -> Answer {
        let (allowed, mut found) = (mask(allowed), CpuMask::new());
        let level = search(&self.vector, &allowed, &mut found);
        assert_eq!(level.is_some(), !found.is_empty(), "a level and CPUs, or none of both");
        assert!(found.iter().all(|cpu| allowed.contains(cpu)), "a CPU that is not allowed");
        let level = level?.level().expect("a level") as i8;
        assert!(level < below, "a level that is not below {below}");
        Some((level, found.iter().map(CpuId::get).collect()))
    }

    /// How many CPUs are at `level`.
    pub fn count(&self, level: i8) -> usize {
        self.vector.count(priority(level))
    }
}

/// The mask of `cpus`.
pub fn mask(cpus: &[u32]) -> CpuMask {
    cpus.iter().copied().map(CpuId::new).collect()
}
