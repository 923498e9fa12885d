//! Objects of a [`PerCpuPool`] that go round among threads which are disturbed in every way there
//! is, while other threads drain: none is lost, and none has two users.
//!
//! | threads | what is special about them |
//! |---|---|
//! | 5 of 8 | registered; sections, held up now and then before their commit |
//! | 1 of 8 | its registration is taken away first: it works on the spill lane |
//! | 1 of 8 | asks a made-up source, which does not tell the CPU: the spill lane, too |
//! | 1 of 8 | each of its sections is cut off, 64 times in a row |
//! | 2 more | drain and shrink |
//! | 1 more | moves the others: to CPUs at random, and all of them off one CPU for a while |
//!
//! A signal's handler gets an object and puts it back, too, in the middle of whatever its thread is
//! doing. At the end of a round everybody has left all CPUs but one, and a drain from there finds
//! what lies in the lanes of the others.

use crate::churn::{self, random};
use crate::run::{herd, turns_at};
use corelocal::pool::{DrainError, PerCpuPool, Pooled};
use corelocal::sys::rseq::{detours, hold};
use corelocal::testing::{self, Config};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const UNREGISTERED: usize = 1;
const NOT_TOLD: usize = 4;
const CUT_OFF: usize = 6;
/// Objects that the pool may keep.
const CAPACITY: usize = 300;
/// Objects that a thread has in its hands at once.
const HANDS: usize = 4;

/// Who lives: one byte an object. More than are ever alive, so that a new one finds a free one.
#[derive(Debug)]
struct Registry {
    alive: Vec<AtomicU8>,
    made: AtomicU64,
    dropped: AtomicU64,
    faults: AtomicU64,
}

impl Registry {
    fn fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }
}

const DEAD: u8 = 0;
const IDLE: u8 = 1;
const HELD: u8 = 2;

/// What goes round.
#[derive(Debug)]
struct Object {
    registry: Arc<Registry>,
    number: usize,
}

impl Object {
    fn new(registry: &Arc<Registry>) -> Self {
        loop {
            let number = registry.made.fetch_add(1, Ordering::Relaxed) as usize;
            let number = number % registry.alive.len();
            let alive = &registry.alive[number];
            if alive.compare_exchange(DEAD, IDLE, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Self { registry: Arc::clone(registry), number };
            }
            // Somebody with this number lives still.
            registry.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn becomes(&self, before: u8, after: u8) {
        if self.registry.alive[self.number].swap(after, Ordering::AcqRel) != before {
            self.registry.fault();
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.becomes(IDLE, DEAD);
        self.registry.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a run found.
#[derive(Debug)]
pub struct Found {
    /// Gets and puts.
    pub operations: u64,
    /// Of these, by signal handlers.
    pub handled: u64,
    /// Objects made and dropped.
    pub made: u64,
    /// Objects that were dropped.
    pub dropped: u64,
    /// Two users of one object, or an object that was dropped in use or twice.
    pub faults: u64,
    /// Drains that were done, and those that another one refused.
    pub drains: [u64; 2],
    /// Objects that they found.
    pub drained: u64,
    /// Sections that were cut off.
    pub aborts: usize,
    /// Operations on the spill lane.
    pub spills: usize,
    /// What did not happen that should have, or the other way round.
    pub missing: Vec<&'static str>,
    /// How long it took.
    pub took: Duration,
}

impl Found {
    /// Nothing is lost, nothing is twice, and everything was provoked.
    pub fn is_good(&self) -> bool {
        self.made == self.dropped && self.faults == 0 && self.missing.is_empty()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, handled, made, dropped, faults, drains, drained, .. } = self;
        write!(
            f,
            "{operations} operations ({handled} by handlers), {made} objects made, {dropped} dropped, \
             {faults} faults; {} drains ({} refused) found {drained} objects; {} aborts, {} spills, \
             {:.1} s",
            drains[0],
            drains[1],
            self.aborts,
            self.spills,
            self.took.as_secs_f64()
        )?;
        self.missing.iter().try_for_each(|what| write!(f, "; WRONG: {what}"))
    }
}

struct Run {
    pool: PerCpuPool<Object>,
    registry: Arc<Registry>,
    handled: AtomicU64,
    done: [AtomicU64; THREADS],
    busy: AtomicU64,
    over: AtomicBool,
    drains: [AtomicU64; 2],
    drained: AtomicU64,
}

thread_local! {
    /// In the middle of a step: what comes now is a handler.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Run {
    fn new() -> Self {
        let registry = Arc::new(Registry {
            alive: (0..1 << 16).map(|_| AtomicU8::new(DEAD)).collect(),
            made: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            faults: AtomicU64::new(0),
        });
        let of_pool = Arc::clone(&registry);
        // More places in the shared queue than objects: what a handler puts finds room.
        let pool = PerCpuPool::builder(move || Object::new(&of_pool))
            .lane_capacity(16)
            .shared_batches(CAPACITY)
            .capacity(CAPACITY)
            .build()
            .expect("memory for lanes");
        let [handled, busy, drained] = [const { AtomicU64::new(0) }; 3];
        let (done, drains) =
            ([const { AtomicU64::new(0) }; THREADS], [const { AtomicU64::new(0) }; 2]);
        Self { pool, registry, handled, done, busy, over: AtomicBool::new(false), drains, drained }
    }

    /// One step of thread `number`, or of its handler.
    fn step(&self, number: usize) {
        if INSIDE.get() {
            // Nothing that allocates or frees.
            if let Some(object) = self.pool.get_idle() {
                object.becomes(IDLE, HELD);
                object.becomes(HELD, IDLE);
                drop(object);
                self.handled.fetch_add(2, Ordering::Relaxed);
                self.done[number].fetch_add(2, Ordering::Relaxed);
            }
            return;
        }
        INSIDE.set(true);
        let operations = self.go_round();
        self.done[number].fetch_add(operations, Ordering::Relaxed);
        INSIDE.set(false);
    }

    /// Takes some objects, uses them, and gives them back; now and then in another way.
    fn go_round(&self) -> u64 {
        let mut hands: [Option<Pooled<'_, Object>>; HANDS] = [const { None }; HANDS];
        let wanted = 1 + (random() >> 20) as usize % HANDS;
        let mut operations = 0;
        for hand in &mut hands[..wanted] {
            let pool = &self.pool;
            *hand = match random() >> 30 & 255 {
                // Beyond the capacity, too.
                0 => Some(pool.get()),
                1 => Some(pool.get_or_else(|| Object::new(&self.registry))),
                2 => {
                    // Refused at the capacity; or it has no room.
                    operations += u64::from(pool.put(Object::new(&self.registry)).is_ok());
                    None
                }
                _ => pool.try_get().ok(),
            };
            if let Some(object) = hand {
                object.becomes(IDLE, HELD);
                operations += 1;
            }
        }
        let first = random() as usize % HANDS;
        for at in 0..HANDS {
            let Some(object) = hands[(first + at) % HANDS].take() else { continue };
            object.becomes(HELD, IDLE);
            if random() >> 30 & 255 == 0 {
                drop(Pooled::detach(object));
            } else {
                drop(object);
                operations += 1;
            }
        }
        operations
    }

    fn drain(&self) {
        let kind = random() >> 30 & 3;
        let outcome = match kind {
            // Half of what it finds goes back.
            0 => self.pool.drain().map(|found| {
                let mut count = 0;
                for (at, object) in found.enumerate() {
                    count += 1;
                    if at % 2 == 0 {
                        let _ = self.pool.put(object);
                    }
                }
                count
            }),
            1 => self.pool.drain().map(|found| found.count() as u64),
            _ => self.pool.shrink_to(CAPACITY / 4).map(|dropped| dropped as u64),
        };
        match outcome {
            Ok(count) => {
                self.drains[0].fetch_add(1, Ordering::Relaxed);
                self.drained.fetch_add(count, Ordering::Relaxed);
            }
            Err(DrainError::InProgress) => {
                self.drains[1].fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => self.registry.fault(),
        }
    }

    fn worker(&self, number: usize, quota: u64) {
        if number == UNREGISTERED {
            let _ = churn::unregister();
        }
        let work = || loop {
            self.step(number);
            let is_done = self.done[number].load(Ordering::Relaxed) >= quota;
            if is_done && number != CUT_OFF || self.over.load(Ordering::Relaxed) {
                break;
            }
        };
        let held = || match number {
            CUT_OFF => hold(turns_at(7, 400_000), work),
            NOT_TOLD => testing::with(Config::new().cpu_id(None), work),
            // The windows of a section's steps, wide open, each in another thread.
            0 | 2 | 3 => hold(turns_at([4, 7, 6][number % 3], 30), work),
            _ => work(),
        };
        let handler = || {
            // Held up in here, too, beyond the next signal, that one would never get on.
            if number != CUT_OFF {
                self.step(number);
            }
        };
        churn::interrupted(173, &handler, held);
        if number != CUT_OFF && self.busy.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.over.store(true, Ordering::Relaxed);
        }
    }
}

/// Goes round until there were `operations` gets and puts at least.
///
/// # Panics
///
/// If a thread panics.
pub fn run(operations: u64) -> Found {
    let since = Instant::now();
    let before = detours();
    let cpus = churn::allowed();
    let run = Run::new();
    let quota = operations / (THREADS as u64 - 1) + 1;
    run.busy.store(THREADS as u64 - 1, Ordering::Relaxed);
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
        for _ in 0..2 {
            scope.spawn(|| {
                while !run.over.load(Ordering::Relaxed) {
                    run.drain();
                    std::thread::sleep(Duration::from_micros(random() >> 20 & 1023));
                }
            });
        }
        scope.spawn(|| herd(&ids, &cpus, &run.over, || ()));
    });
    finish(run, &cpus, before, since)
}

/// Drains from one CPU, and counts.
fn finish(run: Run, cpus: &[u32], before: corelocal::sys::rseq::Detours, since: Instant) -> Found {
    let mut missing = Vec::new();
    let mut insist = |is_so: bool, otherwise| {
        if !is_so {
            missing.push(otherwise);
        }
    };
    // What lies on each CPU, the others being left for good.
    for cpu in cpus {
        let _ = churn::pin(0, &[*cpu]);
        drop([run.pool.get(), run.pool.get(), run.pool.get()]);
    }
    let _ = churn::pin(0, &cpus[..1]);
    let alive = run.pool.objects();
    let last = run.pool.drain().map(|found| found.count());
    insist(last == Ok(alive), "a drain left objects behind");
    insist(run.pool.objects() == 0, "objects count that are not there");
    let _ = churn::pin(0, cpus);
    let now = detours();
    let (aborts, spills) = (now.aborts - before.aborts, now.spills - before.spills);
    if run.pool.uses_sections() {
        insist(aborts > 0, "no section was cut off");
        insist(spills > 0, "nothing went to the spill lane");
    }
    let Run { pool, registry, handled, done, drains, drained, .. } = run;
    drop(pool);
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    insist(get(&handled) > 0, "no handler got an object");
    insist(get(&drains[0]) > 0, "nobody drained");
    let left = registry.alive.iter().filter(|alive| alive.load(Ordering::Relaxed) != DEAD).count();
    insist(left == 0, "objects live on");
    Found {
        operations: done.iter().map(get).sum(),
        handled: get(&handled),
        made: get(&registry.made),
        dropped: get(&registry.dropped),
        faults: get(&registry.faults),
        drains: [get(&drains[0]), get(&drains[1])],
        drained: get(&drained),
        aborts,
        spills,
        missing,
        took: since.elapsed(),
    }
}
