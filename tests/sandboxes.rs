//! Machines and processes made odd from outside: lists of CPUs as other machines have them, no list at
//! all, memory that may not be paged, ten thousand threads at once.
//!
//! Where the rest of a sandbox's oddities is tested: refused calls in `topology/sandbox.rs`,
//! `backend/without.rs`, `quiet.rs` and each structure's `processes.rs`; limits and one CPU in
//! `limits.rs`; forks in `churn.rs` and the structures' `processes.rs`; signals, ends of threads and
//! unloading in `threads.rs` and `register/`; a set of one CPU, little memory and strict overcommit in
//! `cgroups.rs`.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "mounts in a child, and locks its memory")]

mod common;

use common::{allowed, alone, alone_after, before_exec, checked, is_child, resident, skip, stress};
use corelocal::{Area, CpuId, PerCpu, PerCpuCell, PerCpuCounter, Topology, per_cpu};
use std::ffi::{CStr, CString};
use std::io;
use std::process::Command;
use std::ptr;
use std::sync::{Arc, Barrier};

per_cpu! { static HITS: PerCpuCell<u64>; }

/// Counts, allocates, sums and frees from four threads.
fn work() {
    let before = HITS.sum();
    let cells = PerCpu::<PerCpuCell<u64>>::zeroed();
    let counter = PerCpuCounter::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    HITS.inc();
                    cells.inc();
                    counter.inc();
                }
                let own = PerCpu::new(|lane| lane.index());
                assert!(own.iter().all(|(lane, index)| *index == lane.index()));
            });
        }
    });
    assert_eq!((HITS.sum() - before, cells.sum(), counter.sum()), (4000, 4000, 4000));
    assert!(allowed().iter().all(|cpu| cells.get(CpuId::new(*cpu)).is_some()), "a CPU has no lane");
}

const CPUS: &CStr = c"/sys/devices/system/cpu";
const POSSIBLE: &CStr = c"/sys/devices/system/cpu/possible";
/// What a child shall find in the file; not set where there shall be no file.
const LIST: &str = "CORELOCAL_TEST_POSSIBLE";

/// Between fork and exec: a mount namespace where `possible` is `file`, or all of the CPUs' files are
/// gone.
fn see(file: Option<&CStr>) -> io::Result<()> {
    // SAFETY: one system call.
    let enter = |flags| checked(unsafe { libc::unshare(flags) });
    enter(libc::CLONE_NEWNS).or_else(|_| enter(libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
    let mount = |from: *const libc::c_char, to: &CStr, kind: *const libc::c_char, how| {
        // SAFETY: the strings end in zero; no data belong to these kinds of mount.
        checked(unsafe { libc::mount(from, to.as_ptr(), kind, how, ptr::null()) })
    };
    mount(ptr::null(), c"/", ptr::null(), libc::MS_REC | libc::MS_PRIVATE)?;
    match file {
        Some(file) => mount(file.as_ptr(), POSSIBLE, ptr::null(), libc::MS_BIND),
        None => mount(c"none".as_ptr(), CPUS, c"tmpfs".as_ptr(), 0),
    }
}

/// What the child asks, whose list of possible CPUs is another machine's.
fn in_odd_machine(name: &str) {
    let found = std::fs::read_to_string(POSSIBLE.to_str().expect("a plain path")).ok();
    let wanted = std::env::var(LIST).ok();
    if found != wanted {
        return skip(name, "no mount namespace here");
    }
    let topology = Topology::current();
    let here = allowed().last().expect("one CPU at least") + 1;
    if let Some(list) = wanted {
        let possible: corelocal::CpuMask = list.parse().expect("a right list");
        assert_eq!(topology.possible(), &possible);
        let cpus = here.max(possible.id_bound() as u32);
        assert_eq!((topology.cpus(), Area::global().lanes()), (cpus, cpus as usize + 1), "{list}");
    } else {
        assert!(topology.cpus() >= here, "{} CPUs, {here} allowed", topology.cpus());
    }
    work();
}

/// A9, <https://github.com/ibm-power-utilities/powerpc-utils/pull/104>, B1,
/// <https://github.com/folo-rs/folo/pull/483>, C5, <https://github.com/google/tcmalloc/issues/214>,
/// E1, <https://github.com/xdp-project/xdp-tutorial/issues/101>: holes, 240 possible CPUs, more than
/// 1024, and no list at all; in real processes, from libc's start on.
#[test]
fn a_process_on_a_machine_with_odd_lists_counts_and_allocates() {
    let name = "a_process_on_a_machine_with_odd_lists_counts_and_allocates";
    if is_child(name) {
        return in_odd_machine(name);
    }
    let lists = [Some("0,2-3,9\n"), Some("0-239\n"), Some("0-1,1500\n"), Some("0-2047\n"), None];
    let path = std::env::temp_dir().join(format!("corelocal-odd-{}", std::process::id()));
    let file = CString::new(path.to_str().expect("a plain path")).expect("no zero in it");
    for list in lists {
        std::fs::write(&path, list.unwrap_or("")).expect("a file");
        let file = list.map(|_| file.clone());
        let prepare = |command: &mut Command| {
            command.env_remove(LIST);
            if let Some(list) = list {
                command.env(LIST, list);
            }
            let step = move || {
                // Where it is not allowed, the child finds out.
                let _ = see(file.as_deref());
                Ok(())
            };
            // SAFETY: system calls only; the strings were made before.
            unsafe { before_exec(command, step) }
        };
        alone_after(name, prepare, || unreachable!("the child has returned"));
    }
    let _ = std::fs::remove_file(path);
}

/// All present and future pages locked: what is reserved for CPUs is then paged in, or refused.
#[test]
fn a_process_that_locks_its_memory_counts_or_gets_an_error() {
    let name = "a_process_that_locks_its_memory_counts_or_gets_an_error";
    alone(name, || {
        // SAFETY: a system call with plain numbers.
        let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
        if let Err(why) = checked(locked) {
            return skip(name, &format!("memory may not be locked: {why}"));
        }
        work();
        let before = resident();
        let area = Area::builder().cpus(64).build().expect("an area takes no memory by itself");
        match area.try_alloc_zeroed::<[PerCpuCell<u64>; 8]>() {
            Ok(cells) => {
                cells.index(7).expect("there are 8").add(3);
                assert_eq!(cells.index(7).expect("there are 8").sum(), 3);
                println!("64 CPUs: {} KiB paged in", resident().saturating_sub(before) >> 10);
            }
            Err(error) => println!("64 CPUs: {error}"),
        }
        work();
    });
}

/// H1, <https://github.com/tokio-rs/tracing/issues/2856>: all of them alive at the same time.
#[test]
fn ten_thousand_threads_at_once_have_a_place_each() {
    const THREADS: usize = 10_000;
    let name = "ten_thousand_threads_at_once_have_a_place_each";
    if stress() == 1 {
        return skip(name, "10 000 threads are for CORELOCAL_STRESS");
    }
    alone(name, || {
        assert_eq!(HITS.sum(), 0); // The first use makes its copies.
        let stats = Area::global().stats();
        let meet = Arc::new(Barrier::new(THREADS + 1));
        let threads: Vec<_> = (0..THREADS)
            .map_while(|_| {
                let meet = Arc::clone(&meet);
                let small = std::thread::Builder::new().stack_size(32 << 10);
                let work = move || {
                    HITS.inc();
                    meet.wait();
                    HITS.inc();
                };
                small.spawn(work).ok()
            })
            .collect();
        if threads.len() < THREADS {
            // Those that wait do so for ever: the process ends without them.
            return skip(name, &format!("the system has room for {} threads", threads.len()));
        }
        meet.wait();
        threads.into_iter().for_each(|thread| thread.join().expect("it only counts"));
        assert_eq!(HITS.sum(), 2 * THREADS as u64);
        assert_eq!(Area::global().stats().live, stats.live, "something was kept for a thread");
    });
}
