//! A [`PerCpuRwLock`] among threads that are disturbed in every way there is: no reader sees half of
//! what a writer did, no write is lost, and nobody waits for ever.
//!
//! | threads | what is special about them |
//! |---|---|
//! | 5 of 8 | registered; sections, some held up between the look at the word and the commit |
//! | 1 of 8 | its registration is taken away first: it counts on the spill lane |
//! | 1 of 8 | asks a made-up source, which does not tell the CPU: the spill lane, too |
//! | 1 of 8 | each of its sections is cut off, 64 times in a row |
//! | 1 more | moves the others: to CPUs at random, and all of them off one CPU for a while |
//!
//! All of them read, and write now and then; guards are handed to another thread and dropped there. Signals
//! cut sections off; their handler leaves the lock alone, as it must.

use crate::churn::{self, random};
use crate::run::herd;
use corelocal::PerCpuRwLock;
use corelocal::rwlock::ReadGuard;
use corelocal::sys::rseq::{Points, detours, hold};
use corelocal::testing::{self, Config};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const UNREGISTERED: usize = 1;
const NOT_TOLD: usize = 4;
const CUT_OFF: usize = 6;
/// One in so many operations is a write.
const WRITES: u64 = 256;

/// Two words that differ while a writer is at work.
type Pair = [u64; 2];

/// What a run found.
#[derive(Debug)]
pub struct Found {
    /// Reads and writes.
    pub operations: u64,
    /// Of these, writes.
    pub writes: u64,
    /// Reads that saw half of a write, or an older one than before; and writes that were lost.
    pub faults: u64,
    /// Guards that were dropped on another thread.
    pub handed: u64,
    /// Sections that were cut off.
    pub aborts: usize,
    /// Operations on the spill lane.
    pub spills: usize,
    /// What did not happen that should have.
    pub missing: Vec<&'static str>,
    /// How long it took.
    pub took: Duration,
}

impl Found {
    /// Nothing went wrong, and everything was provoked.
    pub fn is_good(&self) -> bool {
        self.faults == 0 && self.missing.is_empty()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, writes, faults, handed, aborts, spills, took, .. } = self;
        write!(
            f,
            "{operations} operations, {writes} of them writes; {handed} guards dropped elsewhere; \
             {faults} faults; {aborts} aborts, {spills} spills, {:.1} s",
            took.as_secs_f64()
        )?;
        self.missing.iter().try_for_each(|what| write!(f, "; WRONG: {what}"))
    }
}

struct Run<'a> {
    lock: &'a PerCpuRwLock<Pair>,
    /// A guard on its way to whoever takes it.
    left: Mutex<Option<ReadGuard<'a, Pair>>>,
    done: AtomicU64,
    writes: AtomicU64,
    handed: AtomicU64,
    faults: AtomicU64,
    busy: AtomicU64,
    over: AtomicBool,
}

impl<'a> Run<'a> {
    fn new(lock: &'a PerCpuRwLock<Pair>) -> Self {
        let [done, writes, handed, faults, busy] = [const { AtomicU64::new(0) }; 5];
        let (left, over) = (Mutex::new(None), AtomicBool::new(false));
        Self { lock, left, done, writes, handed, faults, busy, over }
    }

    fn fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// One operation. `seen`: what this thread saw last.
    fn step(&self, seen: &mut u64) {
        let dice = random() >> 20;
        let held = match dice % WRITES {
            0 => {
                // A guard that nobody took would keep this one waiting.
                self.take_left();
                self.change(self.lock.write().ok(), seen);
                None
            }
            1 => {
                self.change(self.lock.try_write().ok(), seen);
                None
            }
            2..32 => self.lock.try_read().ok(),
            _ => self.lock.read().ok(),
        };
        self.done.fetch_add(1, Ordering::Relaxed);
        let Some(pair) = held else { return };
        if pair[0] != pair[1] || pair[0] < *seen {
            self.fault();
        }
        *seen = pair[0];
        if dice >> 10 & 63 == 0 {
            let before = self.left.lock().map_or(None, |mut left| left.replace(pair));
            self.handed.fetch_add(u64::from(before.is_some()), Ordering::Relaxed);
        }
    }

    /// Drops a guard that another thread left.
    fn take_left(&self) {
        let left = self.left.lock().map_or(None, |mut left| left.take());
        self.handed.fetch_add(u64::from(left.is_some()), Ordering::Relaxed);
    }

    fn change(&self, guard: Option<impl std::ops::DerefMut<Target = Pair>>, seen: &mut u64) {
        let Some(mut pair) = guard else { return };
        if pair[0] != pair[1] || pair[0] < *seen {
            self.fault();
        }
        pair[0] += 1;
        (0..random() >> 30 & 63).for_each(|_| std::hint::spin_loop());
        pair[1] += 1;
        *seen = pair[0];
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    fn worker(&self, number: usize, quota: u64) {
        if number == UNREGISTERED {
            let _ = churn::unregister();
        }
        let turns = |turns| {
            let mut all = [0; Points::COUNT];
            all[7] = turns;
            all
        };
        let work = || {
            let (mut seen, mut steps) = (0, 0);
            while steps == 0
                || (!self.over.load(Ordering::Relaxed) && (steps < quota || number == CUT_OFF))
            {
                self.step(&mut seen);
                steps += 1;
                if steps % 64 == 0 {
                    self.take_left();
                }
            }
        };
        let held = || match number {
            CUT_OFF => hold(turns(400_000), work),
            NOT_TOLD => testing::with(Config::new().cpu_id(None), work),
            // Between the look at the word and the commit, wide open.
            0 | 3 => hold(turns(30), work),
            _ => work(),
        };
        churn::interrupted(173, &|| {}, held);
        if number != CUT_OFF && self.busy.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.over.store(true, Ordering::Relaxed);
        }
        self.take_left();
    }
}

/// Reads and writes until there were `operations` at least.
///
/// # Panics
///
/// If a thread panics.
pub fn run(operations: u64) -> Found {
    let (since, before, cpus) = (Instant::now(), detours(), churn::allowed());
    let lock = PerCpuRwLock::new([0, 0]);
    let run = Run::new(&lock);
    run.busy.store(THREADS as u64 - 1, Ordering::Relaxed);
    let quota = operations / (THREADS as u64 - 1) + 1;
    let ids: Vec<AtomicI32> = (0..THREADS).map(|_| AtomicI32::new(0)).collect();
    std::thread::scope(|scope| {
        for (number, id) in ids.iter().enumerate() {
            let run = &run;
            scope.spawn(move || {
                id.store(churn::thread_id(), Ordering::Relaxed);
                run.worker(number, quota);
                id.store(0, Ordering::Relaxed);
            });
        }
        // It also drops what was left while everybody waits for it to be.
        scope.spawn(|| herd(&ids, &cpus, &run.over, || run.take_left()));
    });
    run.take_left();
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (operations, writes, handed) = (get(&run.done), get(&run.writes), get(&run.handed));
    let mut faults = get(&run.faults);
    drop(run);
    let (now, mut missing) = (detours(), Vec::new());
    let mut insist = |is_so: bool, otherwise| {
        if !is_so {
            missing.push(otherwise);
        }
    };
    let (aborts, spills) = (now.aborts - before.aborts, now.spills - before.spills);
    if lock.uses_sections() {
        insist(aborts > 0, "no section was cut off");
        insist(spills > 0, "nothing went to the spill lane");
    }
    insist(writes > 0, "nobody wrote");
    insist(handed > 0, "no guard was dropped elsewhere");
    insist(lock.try_write().is_ok(), "somebody is inside still");
    faults += u64::from(lock.into_inner().ok() != Some([writes; 2]));
    Found { operations, writes, faults, handed, aborts, spills, missing, took: since.elapsed() }
}
