//! A router whose table is reloaded while it routes: every CPU has a copy of the table, and counts in it.
//!
//! ```text
//! cargo run --release --features epoch --example reclaim
//! ```
//!
//! Four threads route batches of packets by a per-CPU table of weights; a fifth reloads it, thousands of
//! times. Nobody waits for anybody. A reloaded table goes when its last user is done, and leaves its
//! counts behind: no packet is lost, and none is counted twice. The end is checked.

use corelocal::reclaim::{self, Guard};
use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, PerCpuRef, field};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// Where packets can go.
const BACKENDS: usize = 16;
/// Threads that route, batches of each, packets of a batch.
const LOAD: [u64; 3] = [4, 5_000, 64];

/// A CPU's copy: which backend a hash leads to, and how many packets each got.
struct Table {
    generation: u64,
    route: [u8; 256],
    packets: [PerCpuCell<u64>; BACKENDS],
}

impl Table {
    /// Backends in turn, but for one that is down in this generation.
    fn new(generation: u64) -> PerCpu<Self> {
        let down = (generation % BACKENDS as u64) as usize;
        let up: Vec<u8> = (0..BACKENDS).filter(|&b| b != down).map(|b| b as u8).collect();
        PerCpu::new(|_| Self {
            generation,
            route: std::array::from_fn(|hash| up[hash % up.len()]),
            packets: std::array::from_fn(|_| PerCpuCell::new(0)),
        })
    }
}

/// What tables that were reloaded had counted.
#[derive(Default)]
struct Folded {
    tables: u64,
    packets: [u64; BACKENDS],
    /// Packets that went to a backend that was down.
    astray: u64,
}

impl Folded {
    fn add(&mut self, table: PerCpuRef<'_, Table>) {
        let down = (table.spill().generation % BACKENDS as u64) as usize;
        self.tables += 1;
        for (backend, total) in self.packets.iter_mut().enumerate() {
            let packets = table.at(field!(Table, packets)).index(backend).map_or(0, |p| p.sum());
            *total += packets;
            self.astray += if backend == down { packets } else { 0 };
        }
    }
}

/// Routes one batch under one guard: the pin is paid once, not for each packet.
fn route(table: &AtomicPerCpu<Table>, guard: &Guard, random: &mut u64) -> u64 {
    let Some(table) = table.load(guard) else { return 0 };
    let counts = table.at(field!(Table, packets));
    for _ in 0..LOAD[2] {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let backend = table.this().route[(*random >> 32) as usize % 256];
        if let Some(count) = counts.index(backend.into()) {
            count.add(1);
        }
    }
    LOAD[2]
}

/// Puts the next table in place. The old one is summed up when nobody can count in it any more.
fn reload(table: &AtomicPerCpu<Table>, generation: u64, folded: &Arc<Mutex<Folded>>) {
    let guard = reclaim::pin();
    if let Some(old) = table.swap(Some(Table::new(generation)), &guard) {
        let folded = Arc::clone(folded);
        old.retire_with(&guard, move |old| {
            folded.lock().expect("no panic under the lock").add(old.as_ref());
        });
    }
}

fn main() -> ExitCode {
    let table = AtomicPerCpu::new(Table::new(0));
    let folded = Arc::new(Mutex::new(Folded::default()));
    let (routed, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let since = Instant::now();
    let reloads = thread::scope(|scope| {
        let reloader = scope.spawn(|| {
            let mut generation = 0;
            while !done.load(Ordering::Relaxed) {
                generation += 1;
                reload(&table, generation, &folded);
                thread::yield_now();
            }
            generation
        });
        let routers: Vec<_> = (1..=LOAD[0])
            .map(|seed: u64| {
                let (table, routed) = (&table, &routed);
                scope.spawn(move || {
                    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    for _ in 0..LOAD[1] {
                        let packets = route(table, &reclaim::pin(), &mut random);
                        routed.fetch_add(packets, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        routers.into_iter().for_each(|router| router.join().expect("no panic in a router"));
        done.store(true, Ordering::Relaxed);
        reloader.join().expect("no panic in the reloader")
    });
    let seconds = since.elapsed().as_secs_f64();

    // Nobody is left, so the last table is ours at once; the others' callbacks want somebody who pins.
    let last = table.into_inner().expect("there always was one");
    let mut turns = 0;
    while folded.lock().expect("no panic under the lock").tables < reloads {
        reclaim::pin().flush();
        thread::yield_now();
        turns += 1;
    }
    let mut total = folded.lock().expect("no panic under the lock");
    let before = total.packets.iter().sum::<u64>();
    total.add(last.as_ref());
    let (counted, routed) = (total.packets.iter().sum::<u64>(), routed.into_inner());
    println!("backend {}, {} lanes", corelocal::backend(), last.lanes());
    println!("{routed} packets by {} threads, {reloads} reloads, {seconds:.2} s", LOAD[0]);
    println!(
        "{before} of them were counted in tables that are gone ({turns} turns to see the last)"
    );
    println!("packets to each backend: {:?}", total.packets);
    if counted != routed || total.astray != 0 {
        eprintln!("reclaim: {counted} counted, {} to a backend that was down", total.astray);
        return ExitCode::FAILURE;
    }
    println!("each was counted once, and none went to a backend that its table knew to be down");
    ExitCode::SUCCESS
}
