//! Records written by threads which are disturbed in every way there is, while another thread reads:
//! none is torn, none is read twice, and those that are not read were counted as dropped.
//!
//! | threads | what is special about them |
//! |---|---|
//! | 5 of 8 | registered; sections, held up now and then before their commit and in the copy |
//! | 1 of 8 | its registration is taken away first: it works on the spill lane |
//! | 1 of 8 | asks a made-up source, which does not tell the CPU: the spill lane, too |
//! | 1 of 8 | each of its sections is cut off, 64 times in a row |
//! | 1 more | reads |
//! | 1 more | moves the others to CPUs at random |
//!
//! A signal's handler writes records, too, in the middle of whatever its thread is doing.

use crate::churn::{self, random};
use crate::run::turns_at;
use corelocal::PerCpuRing;
use corelocal::ring::{Record, WriteError};
use corelocal::sys::rseq::{Detours, detours, hold};
use corelocal::testing::{self, Config};
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const UNREGISTERED: usize = 1;
const NOT_TOLD: usize = 4;
const CUT_OFF: usize = 6;
/// Bytes of a record at least: its writer, its number.
const LEAST: usize = 16;
const MOST: usize = 300;

/// What a run found.
#[derive(Debug)]
pub struct Found {
    /// Records that were to be written.
    pub tried: u64,
    /// Of these, by signal handlers.
    pub handled: u64,
    /// Records that were written.
    pub written: u64,
    /// Records that were read.
    pub read: u64,
    /// Records that had no room, and those that met others at work.
    pub refused: [u64; 2],
    /// Records that the ring counts as dropped.
    pub dropped: u64,
    /// Torn records, and such that were read twice or out of order.
    pub faults: u64,
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
    /// Nothing is lost but what is counted, nothing is twice, and everything was provoked.
    pub fn is_good(&self) -> bool {
        let refused = self.refused[0] + self.refused[1];
        self.written == self.read
            && self.written + refused == self.tried
            && self.dropped == refused
            && self.faults == 0
            && self.missing.is_empty()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tried, handled, written, read, refused, dropped, faults, .. } = self;
        write!(
            f,
            "{tried} records ({handled} by handlers), {written} written, {read} read, {} had no room, \
             {} met others, {dropped} counted as dropped, {faults} faults; {} aborts, {} spills, {:.1} s",
            refused[0],
            refused[1],
            self.aborts,
            self.spills,
            self.took.as_secs_f64()
        )?;
        self.missing.iter().try_for_each(|what| write!(f, "; WRONG: {what}"))
    }
}

struct Run {
    ring: PerCpuRing,
    /// A thread, and a thread's handler: records tried, and written.
    tried: [AtomicU64; 2 * THREADS],
    written: [AtomicU64; 2 * THREADS],
    refused: [AtomicU64; 2],
    busy: AtomicU64,
    over: AtomicBool,
}

thread_local! {
    /// In the middle of a step: what comes now is a handler.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// What a byte of a record is, behind its writer and number.
fn byte(writer: u64, number: u64, at: usize) -> u8 {
    (number.wrapping_mul(0x9E37_79B9) >> (at % 24)) as u8 ^ writer as u8 ^ at as u8
}

impl Run {
    fn new() -> Self {
        Self {
            ring: PerCpuRing::new(1 << 18),
            tried: [const { AtomicU64::new(0) }; 2 * THREADS],
            written: [const { AtomicU64::new(0) }; 2 * THREADS],
            refused: [const { AtomicU64::new(0) }; 2],
            busy: AtomicU64::new(THREADS as u64 - 1),
            over: AtomicBool::new(false),
        }
    }

    /// Writes a record: thread `number`, or its handler.
    fn step(&self, number: usize) {
        if INSIDE.get() {
            return self.write(THREADS + number, LEAST + 9);
        }
        INSIDE.set(true);
        self.write(number, LEAST + (random() >> 30) as usize % (MOST - LEAST));
        INSIDE.set(false);
    }

    fn write(&self, writer: usize, len: usize) {
        let number = self.tried[writer].fetch_add(1, Ordering::Relaxed);
        let mut bytes = [0; MOST];
        bytes[..8].copy_from_slice(&(writer as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&number.to_le_bytes());
        for (at, place) in bytes.iter_mut().enumerate().take(len).skip(LEAST) {
            *place = byte(writer as u64, number, at);
        }
        let counter = match self.ring.write_at(number, &bytes[..len]) {
            Ok(_) => &self.written[writer],
            Err(WriteError::Full) => &self.refused[0],
            Err(_) => &self.refused[1],
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads until all is over; returns how many records there were, and faults.
    fn reader(&self) -> (u64, u64) {
        // By writer: the numbers that were seen.
        let mut seen: Vec<Vec<bool>> = vec![Vec::new(); 2 * THREADS];
        let (mut read, mut faults) = (0, 0);
        let mut reader = self.ring.reader().expect("nobody else reads");
        loop {
            let is_over = self.over.load(Ordering::Acquire);
            let skipped = (random() >> 30) as usize % 50;
            // Not always to the end: the rest comes the next time.
            let some = if is_over { usize::MAX } else { skipped * 20 };
            for record in reader.drain().take(some) {
                read += 1;
                let is_good = check(&record).is_some_and(|(writer, number)| {
                    let of = &mut seen[writer];
                    if of.len() <= number {
                        of.resize(number + 1, false);
                    }
                    !std::mem::replace(&mut of[number], true)
                });
                faults += u64::from(!is_good);
            }
            if is_over {
                return (read, faults);
            }
            std::thread::sleep(Duration::from_micros(random() >> 30 & 255));
        }
    }

    fn worker(&self, number: usize, quota: u64) {
        if number == UNREGISTERED {
            let _ = churn::unregister();
        }
        let work = || loop {
            self.step(number);
            let is_done = self.tried[number].load(Ordering::Relaxed) >= quota;
            if is_done && number != CUT_OFF || self.over.load(Ordering::Relaxed) {
                break;
            }
        };
        let held = || match number {
            CUT_OFF => hold(turns_at(7, 400_000), work),
            NOT_TOLD => testing::with(Config::new().cpu_id(None), work),
            // The windows of a section's steps, wide open, each in another thread.
            0 | 2 | 3 => hold(turns_at([4, 7, 5][number % 3], 30), work),
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

/// Who wrote a record, and its number; `None` if it is not whole.
fn check(record: &Record<'_>) -> Option<(usize, usize)> {
    let bytes = record.bytes();
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (writer, number) = (word(0)?, word(8)?);
    let is_whole = record.time() == Some(number)
        && (writer as usize) < 2 * THREADS
        && (LEAST..bytes.len()).all(|at| bytes[at] == byte(writer, number, at));
    is_whole.then_some((writer as usize, number as usize))
}

/// Writes until `records` were tried at least.
///
/// # Panics
///
/// If a thread panics.
pub fn run(records: u64) -> Found {
    let since = Instant::now();
    let before = detours();
    let run = Run::new();
    let quota = records / (THREADS as u64 - 1) + 1;
    let ids: Vec<AtomicI32> = (0..THREADS).map(|_| AtomicI32::new(0)).collect();
    let mut seen = (0, 0);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| run.reader());
        let workers: Vec<_> = ids
            .iter()
            .enumerate()
            .map(|(number, id)| {
                let run = &run;
                scope.spawn(move || {
                    id.store(churn::thread_id(), Ordering::Relaxed);
                    run.worker(number, quota);
                    id.store(0, Ordering::Relaxed);
                })
            })
            .collect();
        let moved = AtomicBool::new(false);
        std::thread::scope(|inner| {
            inner.spawn(|| crate::run::mover(150, &ids, &moved));
            workers.into_iter().for_each(|worker| worker.join().expect("a writer panicked"));
            moved.store(true, Ordering::Relaxed);
        });
        seen = reader.join().expect("the reader panicked");
    });
    // What was written after the reader had seen that all is over.
    let (read, faults) = run.reader();
    finish(&run, [seen.0 + read, seen.1 + faults], before, since)
}

fn finish(run: &Run, [read, faults]: [u64; 2], before: Detours, since: Instant) -> Found {
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let sum = |counts: &[AtomicU64]| counts.iter().map(get).sum::<u64>();
    let now = detours();
    let (aborts, spills) = (now.aborts - before.aborts, now.spills - before.spills);
    let handled = sum(&run.tried[THREADS..]);
    let counted: u64 = run.ring.stats().map(|(_, lane)| lane.written).sum();
    let given_back: u64 = run.ring.stats().map(|(_, lane)| lane.read).sum();
    let mut missing = Vec::new();
    let mut insist = |is_so: bool, otherwise| {
        if !is_so {
            missing.push(otherwise);
        }
    };
    if corelocal::backend() == corelocal::Backend::Rseq {
        insist(aborts > 0, "no section was cut off");
        insist(spills > 0, "nothing went to the spill lane");
    }
    insist(handled > 0, "no handler wrote");
    insist(read > 0, "nothing was read");
    insist(counted == read && given_back == read, "the lanes count otherwise");
    Found {
        tried: sum(&run.tried),
        handled,
        written: sum(&run.written),
        read,
        refused: [get(&run.refused[0]), get(&run.refused[1])],
        dropped: run.ring.dropped(),
        faults,
        aborts,
        spills,
        missing,
        took: since.elapsed(),
    }
}
