//! `rwlock`: a lock to read, one word read under it, and its release; and the same to write.
//!
//! The baseline is **no lock**: the same word, and one addition each to two [`PerCpuCell`]s, which is
//! what a reader of ours cannot do without. Scenes with more threads have a reader on each CPU. `beside a
//! writer` has one reader, and on the other CPU a writer that replaces the word, and sleeps between;
//! what it measures is mostly how soon a sleeping reader is woken. `write beside a reader` counts writes, while
//! the other CPU reads all the time. In both a sample is of several pieces, and of a dozen
//! writes: a short one holds one or none, and would be one of two figures by chance. Cold are
//! 256 locks, each read once, of which no
//! near cache holds anything.

use super::Goal;
use crate::machine::{forget, sched_getcpu};
use crate::threads::{self, Op, beside, on_many};
use crate::{Case, Sample, cold};
use corelocal::{PerCpu, PerCpuCell, PerCpuRwLock};
use crossbeam_utils::CachePadded;
use crossbeam_utils::sync::ShardedLock;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

pub(super) const BASELINE: &str = "two PerCpuCell adds (no lock)";
const OURS: &str = "PerCpuRwLock";

/// What is locked.
type Value = [u64; 8];

/// A lock around a value.
trait Lock: Send + Sync + Sized + 'static {
    fn new() -> Self;
    /// Reads a word of the value.
    fn read(&self) -> u64;
    /// Changes it.
    fn write(&self);

    fn reads(&self, ops: u64) {
        for _ in 0..ops {
            forget();
            black_box(self.read());
        }
    }

    fn writes(&self, ops: u64) {
        for _ in 0..ops {
            forget();
            self.write();
        }
    }
}

/// No lock: what a reader counts.
struct Adds {
    lanes: PerCpu<[PerCpuCell<usize>; 2]>,
    value: Value,
}

impl Lock for Adds {
    fn new() -> Self {
        Self { lanes: PerCpu::zeroed(), value: [0; 8] }
    }

    #[inline]
    fn read(&self) -> u64 {
        let add = |cell| self.lanes.index(cell).into_iter().for_each(|cell| cell.add(1));
        add(0);
        let value = self.value[0];
        forget();
        add(1);
        value
    }

    fn write(&self) {}
}

/// What people write by hand: a lock for each CPU. A reader takes one, a writer all.
struct ByCpu(Vec<CachePadded<RwLock<Value>>>);

impl Lock for ByCpu {
    fn new() -> Self {
        let cpus = PerCpu::<u8>::zeroed().cpus();
        Self((0..cpus).map(|_| CachePadded::new(RwLock::new([0; 8]))).collect())
    }

    #[inline]
    fn read(&self) -> u64 {
        let guard = self.0[sched_getcpu()].read().unwrap_or_else(PoisonError::into_inner);
        let value = guard[0];
        forget();
        drop(guard);
        value
    }

    fn write(&self) {
        // All at once, or a reader would see half of it.
        let guards = self.0.iter().map(|one| one.write().unwrap_or_else(PoisonError::into_inner));
        let guards: Vec<_> = guards.collect();
        guards.into_iter().for_each(|mut guard| guard[0] += 1);
    }
}

/// Locks with the interface of std's.
macro_rules! like_std {
    ($Lock:ty, |$lock:ident| $read:expr, $write:expr) => {
        impl Lock for $Lock {
            fn new() -> Self {
                Self::new([0; 8])
            }

            #[inline]
            fn read(&self) -> u64 {
                let $lock = self;
                let guard = $read;
                let value = guard[0];
                forget();
                drop(guard);
                value
            }

            #[inline]
            fn write(&self) {
                let $lock = self;
                $write[0] += 1;
            }
        }
    };
}

like_std!(
    PerCpuRwLock<Value>,
    |lock| lock.read().unwrap_or_else(PoisonError::into_inner),
    lock.write().unwrap_or_else(PoisonError::into_inner)
);
like_std!(
    ShardedLock<Value>,
    |lock| lock.read().unwrap_or_else(PoisonError::into_inner),
    lock.write().unwrap_or_else(PoisonError::into_inner)
);
like_std!(
    RwLock<Value>,
    |lock| lock.read().unwrap_or_else(PoisonError::into_inner),
    lock.write().unwrap_or_else(PoisonError::into_inner)
);
like_std!(parking_lot::RwLock<Value>, |lock| lock.read(), lock.write());
like_std!(
    Mutex<Value>,
    |lock| lock.lock().unwrap_or_else(PoisonError::into_inner),
    lock.lock().unwrap_or_else(PoisonError::into_inner)
);

/// Pieces of a sample that should hold a dozen writes, and how long each is.
const PARTS: (u32, Duration) = (6, Duration::from_micros(500));

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scene {
    Read(usize),
    Cold,
    BesideWriter,
    Write,
    WriteBesideReader,
}

impl Scene {
    fn name(self) -> String {
        let text = match self {
            Self::Read(threads) => return format!("read + unlock, {}", threads::label(threads)),
            Self::Cold => return format!("read + unlock, {}", cold::NAME),
            Self::BesideWriter => "read + unlock, beside a writer every 200 us",
            Self::Write => "write + unlock, nobody else",
            Self::WriteBesideReader => "write + unlock, beside a reader",
        };
        text.to_owned()
    }

    fn case<L: Lock>(self, peer: &'static str) -> Case {
        if self == Self::Cold {
            return cold::case(self.name(), peer, 1, L::new, |lock: &L, _| {
                black_box(lock.read());
            });
        }
        let case = Case::new(self.name(), peer, move || {
            let lock = Arc::new(L::new());
            match self {
                Self::Read(threads) => {
                    let op: Op = Arc::new(move |ops| lock.reads(ops));
                    Box::new(move |ops| on_many(threads, &op, ops))
                }
                Self::BesideWriter => {
                    let writer = Arc::clone(&lock);
                    let other: Op = Arc::new(move |_| {
                        writer.write();
                        std::thread::sleep(Duration::from_micros(200));
                    });
                    Box::new(move |ops| beside(|ops| lock.reads(ops), &other, ops))
                }
                Self::WriteBesideReader => {
                    let reader = Arc::clone(&lock);
                    let other: Op = Arc::new(move |ops| reader.reads(ops));
                    Box::new(move |ops| beside(|ops| lock.writes(ops), &other, ops))
                }
                Self::Cold | Self::Write => {
                    Box::new(move |ops| Sample::of(ops, || lock.writes(ops)))
                }
            }
        });
        match self {
            Self::BesideWriter | Self::WriteBesideReader => case.in_parts(PARTS.0, PARTS.1),
            _ => case,
        }
    }

    fn cases(self) -> Vec<Case> {
        vec![
            self.case::<Adds>(BASELINE),
            self.case::<PerCpuRwLock<Value>>(OURS),
            self.case::<PerCpuRwLock<Value>>("PerCpuRwLock again"),
            self.case::<ShardedLock<Value>>("ShardedLock"),
            self.case::<ByCpu>("RwLock[sched_getcpu]"),
            self.case::<RwLock<Value>>("std RwLock"),
            self.case::<parking_lot::RwLock<Value>>("parking_lot RwLock"),
            self.case::<Mutex<Value>>("std Mutex"),
        ]
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut scenes: Vec<Scene> = threads::counts().into_iter().map(Scene::Read).collect();
    scenes.extend([Scene::Cold, Scene::Write]);
    if threads::two_cpus() {
        scenes.extend([Scene::BesideWriter, Scene::WriteBesideReader]);
    }
    scenes.into_iter().flat_map(Scene::cases).collect()
}

/// What the lock was built to reach.
pub(super) fn goals() -> Vec<Goal> {
    let one = Scene::Read(1).name();
    let mut goals =
        vec![Goal { own: (one.clone(), OURS), than: (one.clone(), BASELINE), most: 2.0 }];
    if threads::two_cpus() {
        let two = Scene::Read(2).name();
        goals.push(Goal { own: (two.clone(), OURS), than: (two.clone(), BASELINE), most: 2.0 });
        goals.push(Goal { own: (two, OURS), than: (one, OURS), most: 1.05 });
    }
    goals
}
