//! Who says which CPU runs at which priority: our layouts, and what people write.

use crate::machine::forget;
use corelocal::priority::{Among, Layout};
use corelocal::{CpuId, CpuMask, CpuSlot, Priority, PriorityVec};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering, fence};
use std::sync::{Arc, Mutex, RwLock};

/// The priorities of some CPUs. None is at a level before it is set.
pub(super) trait Vector: Sized + 'static {
    const NAME: &'static str;

    fn new(order: &[CpuId]) -> Self;
    fn set(&mut self, cpu: CpuId, priority: Priority);
    /// So many changes of one CPU, up to 99 and down to `NORMAL`. Who has something at hand
    /// with which a CPU's owner sets it, takes it once.
    fn up_and_down(&mut self, cpu: CpuId, ops: u64) {
        alternate(ops, |priority| self.set(cpu, priority));
    }
    /// Fills `found` with the allowed CPUs at the lowest level below `priority`.
    fn find(&self, priority: Priority, allowed: &CpuMask, found: &mut CpuMask) -> Option<Priority>;
}

/// Calls `set` with 99 and `NORMAL` in turn.
#[inline(always)]
fn alternate(ops: u64, mut set: impl FnMut(Priority)) {
    for op in 0..ops {
        forget();
        set(if op % 2 == 0 { Priority::rt(99) } else { Priority::NORMAL });
    }
}

/// One of our layouts, all of its CPUs claimed. For CPUs `0..n`, in any order.
pub(super) struct Ours<L: Layout> {
    pub(super) vector: Arc<PriorityVec<L>>,
    /// By id.
    pub(super) slots: Vec<CpuSlot<Arc<PriorityVec<L>>>>,
}

impl<L: Layout> Vector for Ours<L> {
    const NAME: &'static str = L::NAME;

    fn new(order: &[CpuId]) -> Self {
        let vector = Arc::new(PriorityVec::try_new(order).expect("an order without doubles"));
        let mut ids = order.to_vec();
        ids.sort_unstable();
        let claim = |cpu| PriorityVec::claim(Arc::clone(&vector), cpu).expect("claimed once");
        let slots = ids.into_iter().map(claim).collect();
        Self { vector, slots }
    }

    #[inline]
    fn set(&mut self, cpu: CpuId, priority: Priority) {
        self.slots[cpu.index()].set(priority).expect("a level of the vector");
    }

    fn up_and_down(&mut self, cpu: CpuId, ops: u64) {
        let slot = &mut self.slots[cpu.index()];
        alternate(ops, |priority| slot.set(priority).expect("a level of the vector"));
    }

    #[inline]
    fn find(&self, priority: Priority, allowed: &CpuMask, found: &mut CpuMask) -> Option<Priority> {
        self.vector.find(priority, allowed, found)
    }
}

/// The same, searched through [`Among`]s that were made before.
pub(super) struct Prepared<L: Layout> {
    ours: Ours<L>,
    among: Vec<Among<Arc<PriorityVec<L>>>>,
}

impl<L: Layout> Prepared<L> {
    pub(super) fn new(ours: Ours<L>, masks: &[CpuMask]) -> Self {
        let among = |mask| PriorityVec::among(Arc::clone(&ours.vector), mask).expect("memory");
        Self { among: masks.iter().map(among).collect(), ours }
    }

    /// Searches among the CPUs of the mask with that number.
    #[inline]
    pub(super) fn find(
        &self,
        task: Priority,
        mask: usize,
        found: &mut CpuMask,
    ) -> Option<Priority> {
        debug_assert!(!self.ours.slots.is_empty(), "CPUs stay claimed");
        self.among[mask].find(task, found)
    }
}

/// The allowed CPUs at the lowest of the levels that `level_of` tells, below `below`.
#[inline]
fn scan(
    below: u8,
    allowed: &CpuMask,
    found: &mut CpuMask,
    level_of: impl Fn(CpuId) -> u8,
) -> Option<Priority> {
    let mut lowest = below;
    found.clear();
    for cpu in allowed.iter() {
        let level = level_of(cpu);
        if level < lowest {
            lowest = level;
            found.clear();
        }
        if level == lowest && lowest < below {
            found.insert(cpu);
        }
    }
    (lowest < below).then(|| Priority::from_level(lowest).expect("a level"))
}

/// Above all levels.
const NOWHERE: u8 = u8::MAX;

fn byte(priority: Priority) -> u8 {
    priority.level().unwrap_or(NOWHERE)
}

/// An atomic byte a CPU, looked at one by one.
pub(super) struct AtomicBytes(Box<[AtomicU8]>);

impl Vector for AtomicBytes {
    const NAME: &'static str = "[AtomicU8]";

    fn new(order: &[CpuId]) -> Self {
        Self(order.iter().map(|_| AtomicU8::new(NOWHERE)).collect())
    }

    #[inline]
    fn set(&mut self, cpu: CpuId, priority: Priority) {
        // Relaxed: the fence orders it before what the setter reads next, as ours does.
        self.0[cpu.index()].store(byte(priority), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn find(&self, priority: Priority, allowed: &CpuMask, found: &mut CpuMask) -> Option<Priority> {
        let below = priority.level().unwrap_or(0);
        // Relaxed: each byte stands for itself.
        scan(below, allowed, found, |cpu| self.0[cpu.index()].load(Ordering::Relaxed))
    }
}

/// Bytes behind a readers-writer lock.
pub(super) struct LockedBytes(RwLock<Box<[u8]>>);

impl Vector for LockedBytes {
    const NAME: &'static str = "RwLock<[u8]>";

    fn new(order: &[CpuId]) -> Self {
        Self(RwLock::new(order.iter().map(|_| NOWHERE).collect()))
    }

    #[inline]
    fn set(&mut self, cpu: CpuId, priority: Priority) {
        self.0.write().expect("no panics")[cpu.index()] = byte(priority);
    }

    #[inline]
    fn find(&self, priority: Priority, allowed: &CpuMask, found: &mut CpuMask) -> Option<Priority> {
        let levels = self.0.read().expect("no panics");
        scan(priority.level().unwrap_or(0), allowed, found, |cpu| levels[cpu.index()])
    }
}

/// Each level's CPUs in a map behind a lock, and each CPU's level.
pub(super) struct Tree(Mutex<Levels>);

type Levels = (BTreeMap<Priority, CpuMask>, Box<[Priority]>);

impl Vector for Tree {
    const NAME: &'static str = "Mutex<BTreeMap>";

    fn new(order: &[CpuId]) -> Self {
        let levels = order.iter().map(|_| Priority::INVALID).collect();
        Self(Mutex::new((BTreeMap::new(), levels)))
    }

    #[inline]
    fn set(&mut self, cpu: CpuId, priority: Priority) {
        let (cpus, levels) = &mut *self.0.lock().expect("no panics");
        let old = std::mem::replace(&mut levels[cpu.index()], priority);
        if let Some(there) = cpus.get_mut(&old) {
            there.remove(cpu);
        }
        if priority != Priority::INVALID {
            cpus.entry(priority).or_default().insert(cpu);
        }
    }

    #[inline]
    fn find(&self, priority: Priority, allowed: &CpuMask, found: &mut CpuMask) -> Option<Priority> {
        let (cpus, _) = &*self.0.lock().expect("no panics");
        // An empty range, not a panic, for what has nothing below it.
        let below = priority.max(Priority::NORMAL);
        for (level, there) in cpus.range(Priority::NORMAL..below) {
            let words = there.words().iter().zip(allowed.words());
            found.assign_words(words.map(|(there, allowed)| there & allowed));
            if !found.is_empty() {
                return Some(*level);
            }
        }
        found.clear();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::Random;
    use corelocal::{ByCpu, Packed, Padded, Split};

    /// What each search of some random ones gave.
    fn answers<V: Vector>() -> Vec<(Option<Priority>, CpuMask)> {
        let order: Vec<_> = (0..70).map(CpuId::new).collect();
        let (mut vector, mut random) = (V::new(&order), Random::new(5));
        let priority = |random: u64| Priority::from_level((random % 9) as u8).expect("a level");
        let mut search = |_| {
            for _ in 0..40 {
                let cpu = CpuId::new((random.next() % 70) as u32);
                vector.set(cpu, priority(random.next()));
            }
            let mut allowed = CpuMask::new();
            // Those who index an array by id need ids that it has.
            allowed.assign_words([random.next() & random.next(), random.next() & 0b11_1111]);
            let mut found = CpuMask::first_cpus(100);
            (vector.find(priority(random.next()), &allowed, &mut found), found)
        };
        (0..500).map(&mut search).collect()
    }

    #[test]
    fn all_vectors_give_the_same_answers() {
        let right = answers::<Ours<Padded>>();
        assert!(right.iter().any(|(level, _)| level.is_none()));
        assert!(right.iter().any(|(_, found)| found.len() > 2));
        assert_eq!(answers::<Ours<ByCpu>>(), right);
        assert_eq!(answers::<Ours<ByCpu<16>>>(), right);
        assert_eq!(answers::<Ours<Packed>>(), right);
        assert_eq!(answers::<Ours<Split>>(), right);
        assert_eq!(answers::<AtomicBytes>(), right);
        assert_eq!(answers::<LockedBytes>(), right);
        assert_eq!(answers::<Tree>(), right);
    }
}
