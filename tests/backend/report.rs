//! What a child process does and tells, in whatever condition it was started.

use crate::common::child;
use corelocal::sys::rseq::{can_fence, detours, fence_all, fence_cpu};
use corelocal::{Area, CpuId, PerCpu, PerCpuCell, Topology, backend, per_cpu};
use std::collections::BTreeMap;
use std::process::{Command, Output};

pub(crate) const THREADS: u64 = 3;
const ROUNDS: &str = "CORELOCAL_TEST_ROUNDS";

per_cpu! { static HITS: PerCpuCell<u64>; }

/// Every kind of operation on cells, by one thread. Adds 7 to each object's sum.
fn operations(cell: &PerCpu<PerCpuCell<u64>>) {
    cell.add(5);
    cell.inc();
    cell.dec();
    let _ = cell.fetch_add(1);
    // Whichever lane each of them acts on, they move nothing in or out of the sum.
    let (_, taken) = cell.swap(0);
    cell.add(taken);
    if let (_, Ok(0)) = cell.compare_exchange(0, 1) {
        cell.dec();
    }
    if cell.add_on(cell.here().0.cpu().unwrap_or(CpuId::new(u32::MAX)), 1).is_err() {
        cell.inc();
    }
    HITS.add(7);
}

/// The work, and its sum: the same whatever the backend is.
fn work(rounds: u64) -> u64 {
    let cell = PerCpu::<PerCpuCell<u64>>::zeroed();
    // What a process asks once is asked here, so that no two threads ask it at the same time.
    let _ = (Topology::current(), can_fence());
    let placed = Area::builder().placement_by_node(true).build().expect("address space");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..rounds {
                    operations(&cell);
                    // What a drain asks for, and what it goes without.
                    assert_eq!(fence_all().is_ok(), can_fence());
                    assert_eq!(fence_cpu(CpuId::new(0)).is_ok(), can_fence());
                    let _ = (CpuId::current(), backend(), Topology::current().allowed().len());
                    if round % 16 == 0 {
                        drop(placed.try_alloc_zeroed::<[u64; 9000]>().expect("memory"));
                    }
                }
            });
        }
    });
    assert_eq!(cell.sum(), HITS.sum());
    let drained: u64 = cell.into_iter().map(|(_, lane)| lane.load()).sum();
    assert_eq!(drained, HITS.sum(), "every lane, the spill lane among them");
    drained
}

/// What the work's sum must be.
pub(crate) fn expected(rounds: u64) -> String {
    (THREADS * rounds * 7).to_string()
}

/// The body of a child; a test of its own as well.
#[test]
fn every_operation_counts_and_the_backend_says_why() {
    let rounds = std::env::var(ROUNDS).map_or(16, |rounds| rounds.parse().expect("a number"));
    let sum = work(rounds);
    assert_eq!(sum.to_string(), expected(rounds));
    let (backend, detours) = (backend(), detours());
    // The test runner has begun the line.
    println!("\nreport sum={sum}");
    println!("report backend={backend}");
    println!("report reason={}", backend.reason());
    println!("report fence={}", can_fence());
    println!("report spills={}", detours.spills);
}

/// This test binary again, which does the work `rounds` times a thread.
pub(crate) fn working(rounds: u64) -> Command {
    let mut command = child("report::every_operation_counts_and_the_backend_says_why");
    command.env(ROUNDS, rounds.to_string()).env_remove("RUST_BACKTRACE");
    command
}

pub(crate) type Report = BTreeMap<String, String>;

/// What a child told.
///
/// # Panics
///
/// If it failed, or anything but its report was printed.
pub(crate) fn read(done: &Output) -> Report {
    let text = String::from_utf8_lossy(&done.stdout);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}\n{text}\n{errors}", done.status);
    assert_eq!(errors, "", "printed to the standard error");
    let runners = ["running 1 test", "test report::", "test result: ok", "ok"];
    let mut report = Report::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("report ").and_then(|pair| pair.split_once('=')) {
            Some((name, value)) => drop(report.insert(name.to_owned(), value.to_owned())),
            None => assert!(runners.iter().any(|known| line.starts_with(known)), "printed: {line}"),
        }
    }
    report
}
