//! Nothing is lost: threads that are cut off, interrupted and moved, and a forked child.

use super::common::{allowed, checked, interrupt_every, pin, stress};
use super::{id_word, own};
use corelocal::sys::rseq::{Points, detours, hold};
use corelocal::{CpuId, PerCpu, PerCpuCell, per_cpu};
use std::sync::atomic::{AtomicU64, Ordering};

per_cpu! { static TOTAL: PerCpuCell<u64>; }
static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_: i32) {
    TOTAL.add(1);
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

fn stop(timer: libc::timer_t) {
    // SAFETY: the timer is this thread's own, and alive.
    checked(unsafe { libc::timer_delete(timer) }).unwrap();
}

/// Adds that wait for some microseconds before they commit, every one of them interrupted by and by.
fn wide_adds(times: u64) {
    let mut turns = [0; Points::COUNT];
    turns[3] = 2000;
    hold(turns, || (0..times).for_each(|_| TOTAL.add(1)));
}

fn spilled() -> u64 {
    TOTAL.iter().filter(|(lane, _)| lane.cpu().is_none()).map(|(_, cell)| cell.load()).sum()
}

#[test]
fn eight_disturbed_threads_lose_nothing() {
    const THREADS: u64 = 8;
    own("sums::eight_disturbed_threads_lose_nothing", || {
        let (times, cpus) = (20_000 * stress(), allowed());
        std::thread::scope(|scope| {
            for first in 0..THREADS as usize {
                let cpus = &cpus;
                scope.spawn(move || {
                    let timer = interrupt_every(on_signal, 100);
                    for round in 0..20 {
                        pin(cpus[(first + round) % cpus.len()]).unwrap();
                        wide_adds(times / 20);
                        assert!(id_word() >= 0, "not registered");
                    }
                    stop(timer);
                });
            }
        });
        let signals = SIGNALS.load(Ordering::Relaxed);
        println!("{} adds, {signals} signals, {:?}", THREADS * times, detours());
        assert_eq!(TOTAL.sum(), THREADS * times + signals);
        assert!(detours().aborts > 100, "nothing was cut off: {:?}", detours());
        assert!(spilled() < times / 10, "{} went to the spill lane", spilled());
    });
}

/// The first operation of a thread, and its registration, in a signal handler.
#[test]
fn a_thread_whose_first_operation_is_a_signal_handlers_is_registered_by_it() {
    own("sums::a_thread_whose_first_operation_is_a_signal_handlers_is_registered_by_it", || {
        for turn in 1..=20 {
            let add = || {
                let timer = interrupt_every(on_signal, 100);
                let before = SIGNALS.load(Ordering::Relaxed);
                while SIGNALS.load(Ordering::Relaxed) == before {
                    std::hint::spin_loop();
                }
                stop(timer);
                assert!(id_word() >= 0, "not registered");
            };
            std::thread::spawn(add).join().unwrap();
            assert_eq!(TOTAL.sum(), SIGNALS.load(Ordering::Relaxed));
            assert!(TOTAL.sum() >= turn);
            assert_eq!(spilled(), 0);
        }
    });
}

/// Every way in registers the thread; none fails because it was the first.
#[test]
fn a_threads_first_question_is_answered() {
    own("sums::a_threads_first_question_is_answered", || {
        let cell = PerCpu::<PerCpuCell<u32>>::zeroed();
        let cpu = allowed()[0];
        let fresh = |ask: fn(&PerCpu<PerCpuCell<u32>>, CpuId) -> bool| {
            let ask = || {
                assert_eq!(id_word(), -1, "a new thread");
                pin(cpu).unwrap();
                ask(&cell, CpuId::new(cpu))
            };
            std::thread::scope(|scope| scope.spawn(ask).join().unwrap())
        };
        for _ in 0..20 {
            assert!(fresh(|_, cpu| CpuId::current() == Some(cpu)), "CpuId::current");
            assert!(fresh(|cell, cpu| cell.add_on(cpu, 1).is_ok()), "add_on");
            assert!(fresh(|cell, cpu| cell.here().0.cpu() == Some(cpu)), "here");
            assert!(fresh(|cell, cpu| cell.fetch_add(1).0.cpu() == Some(cpu)), "fetch_add");
        }
        assert_eq!(cell.sum(), 40);
        assert_eq!(detours().spills, 0);
        // A section can be cut off by chance, but not as often as threads were registered by one.
        assert!(detours().aborts < 20, "a registration is no abort: {:?}", detours());
    });
}

/// The kernel keeps a registration for the thread that forks.
#[test]
fn a_forked_child_goes_on_with_its_parents_registration() {
    own("sums::a_forked_child_goes_on_with_its_parents_registration", || {
        TOTAL.add(1);
        // SAFETY: the child allocates nothing that others hold, and ends with `_exit`.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let before = detours();
            let timer = interrupt_every(on_signal, 100);
            let mut times = 0;
            while detours().aborts < before.aborts + 20 {
                wide_adds(100);
                times += 100;
            }
            stop(timer);
            let exact = TOTAL.sum() == 1 + times + SIGNALS.load(Ordering::Relaxed);
            let status =
                i32::from(!exact) + 2 * i32::from(spilled() != 0) + 4 * i32::from(id_word() < 0);
            // SAFETY: ends the process.
            unsafe { libc::_exit(status) };
        }
        let mut status = 0;
        // SAFETY: the call writes the status.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "1: not exact, 2: spilled, 4: not registered (in the second byte)");
        assert_eq!(TOTAL.sum(), 1, "the child has copies of its own");
    });
}
