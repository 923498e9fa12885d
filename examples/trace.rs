//! A trace recorder: threads write what they do into a ring of the CPU that they are on, one thread
//! reads all rings from time to time, and at the end everything is printed in the order of time.
//!
//! ```text
//! cargo run --release --example trace
//! ```

use corelocal::ring::StaticRing;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

static TRACE: StaticRing = StaticRing::new(1 << 16);
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Records what happens now, if there is room; the ring counts it if there is none.
fn trace(thread: u8, what: &str) {
    let mut bytes = [0; 32];
    let len = what.len().min(31);
    bytes[0] = thread;
    bytes[1..=len].copy_from_slice(&what.as_bytes()[..len]);
    let _ = TRACE.write_at(BEGUN.elapsed().as_nanos() as u64, &bytes[..=len]);
}

/// What the threads of the example do: they share a table, and look things up in it.
fn work(thread: u8, table: &Mutex<BTreeMap<u64, u64>>) {
    for turn in 0..200_u64 {
        trace(thread, "wait");
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        trace(thread, "locked");
        *table.entry(turn % 50).or_default() += u64::from(thread);
        drop(table);
        trace(thread, "unlocked");
    }
}

/// A record, taken out of the ring.
#[derive(Debug)]
struct Event {
    time: u64,
    lane: usize,
    thread: u8,
    what: String,
}

/// Takes out what was written so far.
fn read(events: &mut Vec<Event>) {
    let mut reader = TRACE.reader().expect("one thread reads");
    for record in reader.drain() {
        let [thread, what @ ..] = record.bytes() else { continue };
        let what = String::from_utf8_lossy(what).into_owned();
        let time = record.time().unwrap_or(0);
        events.push(Event { time, lane: record.lane().index(), thread: *thread, what });
    }
}

/// How often the lock went from one thread to another, as the trace tells it.
fn handovers(events: &[Event]) -> usize {
    let holders = events.iter().filter(|event| event.what == "locked").map(|event| event.thread);
    holders.clone().zip(holders.skip(1)).filter(|(one, next)| one != next).count()
}

fn main() -> ExitCode {
    let table = Mutex::new(BTreeMap::new());
    let over = AtomicBool::new(false);
    let mut events = thread::scope(|scope| {
        let recorder = scope.spawn(|| {
            let mut events = Vec::new();
            while !over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
                read(&mut events);
            }
            events
        });
        let workers = (1..=4).map(|thread| {
            let table = &table;
            scope.spawn(move || work(thread, table))
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().for_each(|worker| worker.join().expect("a worker panicked"));
        over.store(true, Ordering::Relaxed);
        recorder.join().expect("the recorder panicked")
    });
    read(&mut events);

    events.sort_by_key(|event| event.time);
    for event in events.iter().take(12) {
        let Event { time, lane, thread, what } = event;
        println!("{time:>10} ns  lane {lane}  thread {thread}  {what}");
    }
    println!("... {} events in all, {} had no room", events.len(), TRACE.dropped());
    for (lane, stats) in TRACE.stats().filter(|(_, stats)| stats.written > 0) {
        println!("lane {}: {} written, {} dropped", lane.index(), stats.written, stats.dropped);
    }
    println!("the lock went from one thread to another {} times", handovers(&events));
    if events.len() as u64 + TRACE.dropped() == 2400 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
