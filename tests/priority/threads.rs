//! Real threads: twelve of them at once, and every answer held against a record of what was set.

use crate::common::{Rng, stress};
use crate::each_layout;
use crate::history::{Paths, Question};
use corelocal::priority::Layout;
use corelocal::{CpuId, CpuMask, CpuSlot, Priority, PriorityVec};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering, fence};
use std::thread;

/// CPUs that move, on both sides of the edges of words and lines.
const MOVING: [u32; 8] = [0, 1, 63, 64, 127, 128, 511, 512];
/// CPUs that stay, and where.
const STAYING: [(u32, u8); 3] = [(2, 60), (65, 90), (513, 100)];
const FINDERS: usize = 4;

/// What one writer set, from the first to the last.
struct Record {
    levels: Vec<AtomicU8>,
    /// How many of them may have begun.
    begun: AtomicUsize,
    /// How many of them are done.
    done: AtomicUsize,
}

impl Record {
    fn new(length: usize) -> Self {
        let levels = (0..length).map(|_| AtomicU8::new(0)).collect();
        Self { levels, begun: AtomicUsize::new(0), done: AtomicUsize::new(0) }
    }

    fn set<P>(&self, at: usize, slot: &mut CpuSlot<P>, to: Priority)
    where
        P: std::ops::Deref<Target: corelocal::priority::Claimed>,
    {
        let byte = to.level().unwrap_or(u8::MAX);
        // Relaxed: the counts below publish it.
        self.levels[at].store(byte, Ordering::Relaxed);
        self.begun.store(at + 1, Ordering::Release);
        // Who sees the change sees that it has begun.
        fence(Ordering::SeqCst);
        slot.set(to).unwrap();
        self.done.store(at + 1, Ordering::Release);
    }

    /// Where the CPU was, or was being moved to, since `done` changes were done.
    fn path(&self, done: usize) -> Vec<Priority> {
        let begun = self.begun.load(Ordering::Acquire);
        let levels = self.levels[done - 1..begun].iter();
        // Relaxed: published by `begun`.
        let bytes = levels.map(|level| level.load(Ordering::Relaxed));
        bytes.map(|byte| Priority::from_level(byte).unwrap_or(Priority::INVALID)).collect()
    }
}

/// Mostly up, as a queue that fills; then to the bottom, or out of it.
fn next(random: &mut Rng, at: Priority) -> Priority {
    match at.level() {
        Some(level) if level < 90 => {
            Priority::from_level(level + 1 + random.below(9) as u8).unwrap()
        }
        _ if random.below(4) == 0 => Priority::INVALID,
        _ => Priority::from_level(random.below(30) as u8).unwrap(),
    }
}

/// A searcher's loop: until all writers are done, and a few times more.
fn search<L: Layout>(vector: &PriorityVec<L>, records: &[Record], seed: u64) -> usize {
    let mut random = Rng::new(seed);
    let (mut found, mut searches) = (CpuMask::new(), 0);
    let mut last = 0;
    while last < 3 {
        let all_done =
            records.iter().all(|record| record.done.load(Ordering::Acquire) == record.levels.len());
        last += usize::from(all_done);
        let allowed = match random.below(3) {
            0 => CpuMask::first_cpus(600),
            1 => MOVING.iter().map(|id| CpuId::new(*id)).collect(),
            _ => (0..6).map(|_| CpuId::new(MOVING[random.below(8)])).collect(),
        };
        let priority = Priority::from_level(1 + random.below(100) as u8).unwrap();
        let question = Question { priority, allowed: &allowed, sees_fallers: L::NAME == "ByCpu" };
        let before: Vec<usize> =
            records.iter().map(|record| record.done.load(Ordering::Acquire)).collect();
        fence(Ordering::SeqCst);
        let one_only = random.below(3) == 0;
        let (level, one) = if one_only {
            let one = vector.find_any(priority, &allowed, CpuId::new(random.below(600) as u32));
            (None, one)
        } else {
            (vector.find(priority, &allowed, &mut found), None)
        };
        fence(Ordering::SeqCst);
        let moving = MOVING.iter().zip(records).zip(before);
        let moving = moving.map(|((id, record), done)| (CpuId::new(*id), record.path(done)));
        let staying =
            STAYING.map(|(id, at)| (CpuId::new(id), vec![Priority::from_level(at).unwrap()]));
        let paths: Paths = moving.chain(staying).collect();
        let fault = match one_only {
            true => question.fault_of_one(&paths, one),
            false => question.fault_of_all(&paths, level, &found),
        };
        assert_eq!(fault, None, "priority {priority:?}, allowed {allowed}, {paths:?}");
        searches += 1;
    }
    searches
}

/// K4, K7: eight threads set, four search, and no answer breaks a promise: a CPU that was not there,
/// one that was missed, a mask without CPUs.
#[test]
fn twelve_threads_break_no_promise() {
    each_layout!(L => {
        let moves = 500 * stress() as usize;
        let ids = MOVING.iter().copied().chain(STAYING.map(|(id, _)| id)).map(CpuId::new);
        let vector = PriorityVec::<L>::try_new(ids).unwrap();
        let records: Vec<Record> = MOVING.iter().map(|_| Record::new(moves)).collect();
        let mut staying = STAYING.map(|(id, _)| PriorityVec::claim(&vector, CpuId::new(id)).unwrap());
        for (slot, (_, at)) in staying.iter_mut().zip(STAYING) {
            slot.set(Priority::from_level(at).unwrap()).unwrap();
        }
        let start = Barrier::new(MOVING.len() + FINDERS);
        let searches: usize = thread::scope(|scope| {
            let (vector, records, start) = (&vector, &records, &start);
            for (id, record) in MOVING.iter().zip(records) {
                scope.spawn(move || {
                    let mut slot = PriorityVec::claim(vector, CpuId::new(*id)).unwrap();
                    let mut random = Rng::new(u64::from(*id) + 100);
                    record.set(0, &mut slot, Priority::rt(20));
                    start.wait();
                    for at in 1..moves {
                        let to = next(&mut random, slot.get());
                        record.set(at, &mut slot, to);
                    }
                    // It stays where it is, claimed: searchers go on.
                    std::mem::forget(slot);
                });
            }
            let finders: Vec<_> = (0..FINDERS as u64)
                .map(|seed| {
                    scope.spawn(move || {
                        start.wait();
                        search(vector, records, seed)
                    })
                })
                .collect();
            finders.into_iter().map(|finder| finder.join().unwrap()).sum()
        });
        println!("{}: {searches} searches beside {} changes", L::NAME, 8 * moves);
        let last = |record: &Record| record.path(moves)[0];
        for priority in (0..=100).map(|level| Priority::from_level(level).unwrap()) {
            let moved = records.iter().filter(|record| last(record) == priority).count();
            let stayed = STAYING.iter().filter(|(_, at)| Some(*at) == priority.level()).count();
            assert_eq!(vector.count(priority), moved + stayed, "at {priority:?} in the end");
        }
    });
}

/// Threads that fight for the same CPUs: one of them has it, always.
#[test]
fn a_cpu_never_has_two_writers() {
    each_layout!(L => {
        let vector = PriorityVec::<L>::try_new((0..3).map(CpuId::new)).unwrap();
        let writers: Vec<AtomicUsize> = (0..3).map(|_| AtomicUsize::new(0)).collect();
        let claimed: usize = thread::scope(|scope| {
            let (vector, writers) = (&vector, &writers);
            let threads: Vec<_> = (0..8)
                .map(|seed| {
                    scope.spawn(move || {
                        let mut random = Rng::new(seed);
                        let mut claimed = 0;
                        for _ in 0..300 * stress() {
                            let cpu = random.below(3);
                            let slot = PriorityVec::claim(vector, CpuId::new(cpu as u32));
                            let Ok(mut slot) = slot else { continue };
                            // Relaxed: a count; being alone is what is tested.
                            assert_eq!(writers[cpu].fetch_add(1, Ordering::Relaxed), 0);
                            slot.set(Priority::rt(1 + random.below(99) as u8)).unwrap();
                            slot.set(Priority::rt(1 + random.below(99) as u8)).unwrap();
                            writers[cpu].fetch_sub(1, Ordering::Relaxed);
                            claimed += 1;
                        }
                        claimed
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(claimed > 0);
        let left: usize = (0..=100).map(|at| vector.count(Priority::from_level(at).unwrap())).sum();
        assert_eq!((left, vector.count(Priority::INVALID)), (0, 3), "each drop took its CPU out");
    });
}
