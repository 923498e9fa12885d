//! References to shared values that are cloned, handed on and dropped by threads which are disturbed in
//! every way there is, while the values' owners go: each value is dropped once, after its last
//! reference.
//!
//! | threads | what is special about them |
//! |---|---|
//! | 5 of 8 | registered; sections, held up now and then before their commit |
//! | 1 of 8 | its registration is taken away first: it works on the spill lane |
//! | 1 of 8 | asks a made-up source, which does not tell the CPU: the spill lane, too |
//! | 1 of 8 | each of its sections is cut off, 64 times in a row |
//! | 1 more | publishes a new value, and drops the owner of the old one, all the time |
//! | 1 more | moves the others |
//!
//! A signal's handler clones and drops, too, in the middle of whatever its thread is doing. What is
//! true of a value is kept beside it, by ordinary atomics: whether it lives, and how many hold it.

use crate::churn::{self, random};
use crate::run::{herd, turns_at};
use corelocal::refcount::{PerCpuArc, PerCpuArcOwner, leaked};
use corelocal::sys::rseq::{detours, hold};
use corelocal::testing::{self, Config};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const UNREGISTERED: usize = 1;
const NOT_TOLD: usize = 4;
const CUT_OFF: usize = 6;
/// References that a thread has in its hands at once.
const HANDS: usize = 6;
/// Values that can live at a time, and more.
const VALUES: usize = 1 << 12;
/// References that wait for another thread to drop them.
const BETWEEN: usize = 64;

/// What is true of each value.
#[derive(Debug)]
struct Registry {
    alive: Vec<AtomicBool>,
    held: Vec<AtomicI64>,
    made: AtomicU64,
    dropped: AtomicU64,
    faults: AtomicU64,
}

impl Registry {
    fn insist(&self, is_so: bool) {
        if !is_so {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
struct Value {
    registry: Arc<Registry>,
    number: usize,
}

impl Value {
    fn new(registry: &Arc<Registry>) -> Self {
        let number = registry.made.fetch_add(1, Ordering::Relaxed) as usize % VALUES;
        registry.insist(!registry.alive[number].swap(true, Ordering::AcqRel));
        Self { registry: Arc::clone(registry), number }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        let registry = &self.registry;
        registry.insist(registry.alive[self.number].swap(false, Ordering::AcqRel));
        registry.insist(registry.held[self.number].load(Ordering::Acquire) == 0);
        registry.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// A reference, and its entry in the books.
struct Held {
    arc: PerCpuArc<Value>,
    number: usize,
    registry: Arc<Registry>,
}

impl Held {
    fn new(arc: PerCpuArc<Value>) -> Self {
        let (number, registry) = (arc.number, Arc::clone(&arc.registry));
        registry.held[number].fetch_add(1, Ordering::Relaxed);
        Self { arc, number, registry }
    }

    fn again(&self) -> Self {
        Self::new(self.arc.clone())
    }

    fn look(&self) {
        self.registry.insist(self.registry.alive[self.number].load(Ordering::Relaxed));
        self.registry.insist(self.arc.number == self.number);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.look();
        // Release: before the reference itself goes.
        self.registry.held[self.number].fetch_sub(1, Ordering::Release);
    }
}

/// What a run found.
#[derive(Debug)]
pub struct Found {
    /// Clones and drops.
    pub operations: u64,
    /// Of these, by signal handlers.
    pub handled: u64,
    /// Values made and dropped.
    pub values: [u64; 2],
    /// A value that was dropped while it was held, or used after it was dropped, or dropped twice.
    pub faults: u64,
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
    /// Nothing was freed early, twice or never, and everything was provoked.
    pub fn is_good(&self) -> bool {
        self.values[0] == self.values[1] && self.faults == 0 && self.missing.is_empty()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, handled, values: [made, dropped], faults, .. } = self;
        write!(
            f,
            "{operations} clones and drops ({handled} by handlers) of {made} values, {dropped} \
             dropped, {faults} faults; {} aborts, {} spills, {:.1} s",
            self.aborts,
            self.spills,
            self.took.as_secs_f64()
        )?;
        self.missing.iter().try_for_each(|what| write!(f, "; WRONG: {what}"))
    }
}

struct Run {
    registry: Arc<Registry>,
    published: RwLock<Held>,
    /// What handlers clone: it lives as long as the run.
    fixed: PerCpuArc<Value>,
    /// References that one thread cloned and another one drops.
    between: Mutex<Vec<Held>>,
    handled: AtomicU64,
    done: [AtomicU64; THREADS],
    busy: AtomicU64,
    over: AtomicBool,
}

impl Run {
    fn new(registry: &Arc<Registry>, owners: [&PerCpuArcOwner<Value>; 2]) -> Self {
        Self {
            registry: Arc::clone(registry),
            published: RwLock::new(Held::new(owners[0].share())),
            fixed: owners[1].share(),
            between: Mutex::new(Vec::with_capacity(BETWEEN + 1)),
            handled: AtomicU64::new(0),
            done: [const { AtomicU64::new(0) }; THREADS],
            busy: AtomicU64::new(THREADS as u64 - 1),
            over: AtomicBool::new(false),
        }
    }

    /// In a handler: no lock, no allocation, and nothing whose drop could be the last.
    fn handle(&self) {
        let [one, two] = [(); 2].map(|()| self.fixed.clone());
        self.registry.insist(one.number == two.number);
        drop(one);
        drop(two);
        self.handled.fetch_add(4, Ordering::Relaxed);
    }

    /// Clones some, and drops them in another order; one in a while goes to another thread.
    fn step(&self, number: usize, current: &mut Held) {
        if !PerCpuArc::has_owner(&current.arc) {
            *current = self.published.read().expect("nobody panics").again();
        }
        let mut hands: [Option<Held>; HANDS] = [const { None }; HANDS];
        let wanted = 1 + (random() >> 20) as usize % HANDS;
        for hand in &mut hands[..wanted] {
            let one = if random() & 1 << 30 == 0 {
                current.again()
            } else {
                Held::new(self.fixed.clone())
            };
            one.look();
            *hand = Some(one);
        }
        let first = random() as usize % HANDS;
        for at in 0..HANDS {
            let Some(one) = hands[(first + at) % HANDS].take() else { continue };
            if random() >> 30 & 31 == 0 {
                let mut between = self.between.lock().expect("nobody panics");
                between.push(one);
                let other = (random() >> 20) as usize % between.len();
                let other = (between.len() > BETWEEN).then(|| between.swap_remove(other));
                drop(between);
                drop(other);
            } else {
                drop(one);
            }
        }
        self.done[number].fetch_add(2 * wanted as u64, Ordering::Relaxed);
    }

    fn worker(&self, number: usize, quota: u64) {
        if number == UNREGISTERED {
            let _ = churn::unregister();
        }
        let mut current = self.published.read().expect("nobody panics").again();
        let work = || loop {
            self.step(number, &mut current);
            let is_done = self.done[number].load(Ordering::Relaxed) >= quota;
            if is_done && number != CUT_OFF || self.over.load(Ordering::Relaxed) {
                break;
            }
        };
        let held = || match number {
            CUT_OFF => hold(turns_at(7, 400_000), work),
            NOT_TOLD => testing::with(Config::new().cpu_id(None), work),
            // The windows of a section's steps, wide open, each in another thread.
            0 | 2 | 3 => hold(turns_at([4, 7, 2][number % 3], 30), work),
            _ => {
                let mut work = work;
                work();
            }
        };
        let handler = || {
            // Held up in here, too, beyond the next signal, that one would never get on.
            if number != CUT_OFF {
                self.handle();
            }
        };
        churn::interrupted(173, &handler, held);
        if number != CUT_OFF && self.busy.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// New values, one after the other. Returns how many owners went.
    fn publish(&self, mut owner: PerCpuArcOwner<Value>) -> u64 {
        let mut gone = 1;
        while !self.over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(random() >> 20 & 1023));
            // Never more at a time than there are numbers for.
            let registry = &self.registry;
            let (made, dropped) = (&registry.made, &registry.dropped);
            let alive = made.load(Ordering::Relaxed) - dropped.load(Ordering::Relaxed);
            if alive as usize > VALUES / 4 {
                continue;
            }
            let next = loop {
                // A number that somebody holds still is passed over.
                let number = made.load(Ordering::Relaxed) as usize % VALUES;
                if !registry.alive[number].load(Ordering::Relaxed) {
                    break PerCpuArcOwner::new(Value::new(registry));
                }
                made.fetch_add(1, Ordering::Relaxed);
                dropped.fetch_add(1, Ordering::Relaxed);
            };
            let published = Held::new(next.share());
            let old =
                std::mem::replace(&mut *self.published.write().expect("nobody panics"), published);
            drop(std::mem::replace(&mut owner, next));
            drop(old);
            gone += 1;
        }
        gone
    }
}

/// Goes on until there were `operations` clones and drops at least.
///
/// # Panics
///
/// If a thread panics.
pub fn run(operations: u64) -> Found {
    let since = Instant::now();
    let before = detours();
    let cpus = churn::allowed();
    let registry = Arc::new(Registry {
        alive: (0..VALUES).map(|_| AtomicBool::new(false)).collect(),
        held: (0..VALUES).map(|_| AtomicI64::new(0)).collect(),
        made: AtomicU64::new(0),
        dropped: AtomicU64::new(0),
        faults: AtomicU64::new(0),
    });
    let [first, fixed] = [(); 2].map(|()| PerCpuArcOwner::new(Value::new(&registry)));
    let run = Run::new(&registry, [&first, &fixed]);
    let quota = operations / (THREADS as u64 - 1) + 1;
    let ids: Vec<AtomicI32> = (0..THREADS).map(|_| AtomicI32::new(0)).collect();
    let mut gone = 0;
    std::thread::scope(|scope| {
        for (number, id) in ids.iter().enumerate() {
            let run = &run;
            scope.spawn(move || {
                id.store(churn::thread_id(), Ordering::Relaxed);
                run.worker(number, quota);
                id.store(0, Ordering::Relaxed);
            });
        }
        let publisher = scope.spawn(|| run.publish(first));
        scope.spawn(|| herd(&ids, &cpus, &run.over, || ()));
        gone = publisher.join().expect("a publisher ends");
    });
    let references = fixed.references();
    finish(run, fixed, references, gone, before, since)
}

fn finish(
    run: Run,
    fixed: PerCpuArcOwner<Value>,
    references: u64,
    gone: u64,
    before: corelocal::sys::rseq::Detours,
    since: Instant,
) -> Found {
    let mut missing = Vec::new();
    let mut insist = |is_so: bool, otherwise| {
        if !is_so {
            missing.push(otherwise);
        }
    };
    let Run { registry, published, fixed: last, between, handled, done, .. } = run;
    let between = between.into_inner().expect("nobody panics");
    let of_fixed = between.iter().filter(|held| PerCpuArc::ptr_eq(&held.arc, &last)).count();
    // The owner's, the run's, and those that nobody dropped yet.
    insist(references == 2 + of_fixed as u64, "references count that are not there, or do not");
    drop((between, published, last));
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    insist(get(&registry.made) - get(&registry.dropped) == 1, "values outlive their references");
    drop(fixed);
    let now = detours();
    let (aborts, spills) = (now.aborts - before.aborts, now.spills - before.spills);
    if corelocal::backend() == corelocal::Backend::Rseq {
        insist(aborts > 0, "no section was cut off");
        insist(spills > 0, "nothing went to the spill lane");
    }
    insist(get(&handled) > 0, "no handler cloned");
    insist(gone > 1, "no owner went");
    insist(leaked() == 0, "a value was leaked");
    insist(registry.alive.iter().all(|alive| !alive.load(Ordering::Relaxed)), "values live on");
    Found {
        operations: done.iter().map(get).sum::<u64>() + get(&handled),
        handled: get(&handled),
        values: [get(&registry.made), get(&registry.dropped)],
        faults: get(&registry.faults),
        aborts,
        spills,
        missing,
        took: since.elapsed(),
    }
}
