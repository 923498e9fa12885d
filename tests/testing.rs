//! What tests can ask for: operations that are cut off on purpose, and another backend.
#![cfg(all(feature = "testing", target_os = "linux"))]
#![allow(unsafe_code, reason = "asks libc, and installs a signal handler")]

mod common;

use common::{allowed, alone, alone_after, skip};
use corelocal::sys::rseq::detours;
use corelocal::testing::{self, Config, Disturbance, ForceError, asked_backend, force_backend};
use corelocal::{Backend, CpuId, PerCpu, PerCpuCell, backend};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether this process has sections; says so if not.
fn has_sections(name: &str) -> bool {
    let has = backend() == Backend::Rseq;
    if !has {
        skip(name, &format!("the backend is {}: {}", backend(), backend().reason()));
    }
    has
}

const STRIKES: [Disturbance; 4] = [
    Disturbance::Signal,
    Disturbance::Yield,
    Disturbance::Sleep(Duration::from_micros(50)),
    Disturbance::Migrate,
];

type Cells = PerCpu<PerCpuCell<u64>>;

/// An operation, and what it changed the sum by.
type Operation = fn(&Cells) -> u64;

fn add(cells: &Cells) -> u64 {
    cells.add(3);
    3
}

fn fetch_add(cells: &Cells) -> u64 {
    cells.fetch_add(5);
    5
}

fn swap(cells: &Cells) -> u64 {
    let (_, old) = cells.swap(1000);
    1000_u64.wrapping_sub(old)
}

fn compare_exchange(cells: &Cells) -> u64 {
    match cells.compare_exchange(cells.this().load(), 77) {
        (_, Ok(old)) => 77_u64.wrapping_sub(old),
        (_, Err(_)) => 0,
    }
}

/// With the points that each passes.
const OPERATIONS: [(Operation, &[usize]); 4] = [
    (add, &[0, 1, 2, 3, 7, 8]),
    (fetch_add, &[0, 1, 2, 3, 4, 7, 8]),
    (swap, &[0, 1, 2, 3, 4, 7, 8]),
    (compare_exchange, &[0, 1, 2, 3, 4, 7, 8]),
];

const TIMES: usize = 10;

/// Does `operation` some times; the change of the sum, and the sections that were cut off.
fn with(config: Config<'_>, cells: &Cells, operation: Operation) -> (u64, usize) {
    let before = detours().aborts;
    let change = testing::with(config, || {
        (0..TIMES).fold(0_u64, |sum, _| sum.wrapping_add(operation(cells)))
    });
    (change, detours().aborts - before)
}

/// In a process of its own: the counts are the process's.
#[test]
fn what_happens_at_a_point_cuts_the_operation_off_there_and_changes_nothing() {
    const NAME: &str = "what_happens_at_a_point_cuts_the_operation_off_there_and_changes_nothing";
    alone(NAME, || {
        let (cells, sections) = (Cells::zeroed(), has_sections(NAME));
        let mut expected = 0_u64;
        for (number, (operation, passed)) in OPERATIONS.into_iter().enumerate() {
            for point in 0..=8 {
                for what in STRIKES {
                    let (change, aborts) = with(Config::new().at(point, what), &cells, operation);
                    expected = expected.wrapping_add(change);
                    assert_eq!(cells.sum(), expected, "operation {number}, {what:?} at {point}");
                    let is_inside = passed.contains(&point) && point != 0 && point != 8;
                    // On one CPU nobody can be moved, and who disturbs also preempts.
                    let alone = allowed().len() == 1;
                    let right = if sections && is_inside {
                        aborts >= TIMES || alone && what == Disturbance::Migrate
                    } else {
                        // A few are cut off by what else goes on here.
                        aborts <= TIMES / 2 || alone
                    };
                    assert!(right, "operation {number}, {what:?} at {point}: {aborts} aborts");
                }
                let delay = Config::new().at(point, Disturbance::Delay(500));
                expected = expected.wrapping_add(with(delay, &cells, operation).0);
            }
        }
        assert_eq!((cells.sum(), cells.spill().load()), (expected, 0), "none was given up");
    });
}

#[test]
fn an_operation_that_is_cut_off_each_time_goes_to_the_spill_lane() {
    const NAME: &str = "an_operation_that_is_cut_off_each_time_goes_to_the_spill_lane";
    if !has_sections(NAME) {
        return;
    }
    let cells = Cells::zeroed();
    let at_commit = || Config::new().at(7, Disturbance::Signal);
    testing::with(at_commit().first_attempts(20), || cells.add(1));
    assert_eq!((cells.sum(), cells.spill().load()), (1, 0), "it got through at last");
    testing::with(at_commit().first_attempts(u32::MAX), || cells.add(1));
    assert_eq!((cells.sum(), cells.spill().load()), (2, 1));
}

#[test]
fn only_the_calling_threads_operations_are_disturbed_and_only_inside() {
    const NAME: &str = "only_the_calling_threads_operations_are_disturbed_and_only_inside";
    if !has_sections(NAME) {
        return;
    }
    let cells = Cells::zeroed();
    let always = || Config::new().at(7, Disturbance::Signal).first_attempts(u32::MAX);
    testing::with(always(), || {
        cells.add(1);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1000).for_each(|_| cells.add(1)));
        });
        testing::with(Config::new(), || cells.add(1));
        cells.add(1);
    });
    assert_eq!((cells.sum(), cells.spill().load()), (1003, 2), "the two beside the others");
    let panics = || testing::with(always(), || panic!("on purpose"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    cells.add(1);
    assert_eq!((cells.sum(), cells.spill().load()), (1004, 2), "nothing is left of it");
}

#[test]
fn a_migration_moves_the_thread_and_its_set_of_cpus_is_what_it_was() {
    const NAME: &str = "a_migration_moves_the_thread_and_its_set_of_cpus_is_what_it_was";
    let before = allowed();
    if !has_sections(NAME) || before.len() < 2 {
        return skip(NAME, "wants sections and two CPUs");
    }
    let cells = Cells::zeroed();
    let moved = testing::with(Config::new().at(7, Disturbance::Migrate), || {
        let is_moved = |_: &usize| {
            let here = CpuId::current();
            cells.fetch_add(1).0.cpu() != here
        };
        (0..40).filter(is_moved).count()
    });
    // It ran there, but whatever else is to run may have it moved back before the next look.
    assert!(moved > 0, "moved in {moved} of 40 operations");
    assert_eq!((cells.sum(), allowed()), (40, before));
}

static URGED: AtomicBool = AtomicBool::new(false);

extern "C" fn urged(_signal: i32) {
    URGED.store(true, Ordering::Relaxed);
}

/// In a process of its own: the handler is the process's.
#[test]
fn the_earlier_handler_of_the_signal_is_back_afterwards() {
    alone("the_earlier_handler_of_the_signal_is_back_afterwards", || {
        // SAFETY: the handler stores a flag.
        unsafe { libc::signal(libc::SIGURG, urged as extern "C" fn(i32) as usize) };
        let cells = Cells::zeroed();
        let (both, first_ends) = (Barrier::new(2), Barrier::new(2));
        let strike = || Config::new().at(3, Disturbance::Signal);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                testing::with(strike(), || {
                    both.wait();
                    first_ends.wait();
                    cells.add(1);
                });
            });
            both.wait();
            testing::with(strike(), || cells.add(1));
            // The other thread still wants the handler.
            first_ends.wait();
        });
        assert_eq!(cells.sum(), 2);
        assert!(!URGED.load(Ordering::Relaxed), "a strike came to the wrong handler");
        // SAFETY: a number.
        unsafe { libc::raise(libc::SIGURG) };
        assert!(URGED.load(Ordering::Relaxed));
    });
}

#[test]
fn a_point_or_a_delay_that_there_is_not_is_refused() {
    let refused = |point, what| catch_unwind(|| drop(Config::new().at(point, what))).is_err();
    assert!(refused(9, Disturbance::Signal));
    assert!(refused(1, Disturbance::Delay(1 << 31)));
    assert!(!refused(8, Disturbance::Delay(i32::MAX as u32)));
}

/// The default of a machine whose libc registers rseq is sections, and they are executed.
#[test]
fn where_libc_registers_an_area_the_default_runs_sections() {
    const NAME: &str = "where_libc_registers_an_area_the_default_runs_sections";
    let prepare = |command: &mut std::process::Command| {
        command.env_remove(VARIABLE);
    };
    alone_after(NAME, prepare, || {
        // SAFETY: the name ends with a zero; the handle is valid.
        let size = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) };
        // SAFETY: null, or a constant of libc's.
        let size = unsafe { size.cast::<u32>().as_ref() }.copied().unwrap_or(0);
        if size == 0 || !cfg!(target_arch = "x86_64") {
            return skip(NAME, "libc registers no area, or the sections want to be verified");
        }
        assert_eq!(asked_backend(), Ok(None));
        assert_eq!(backend(), Backend::Rseq, "{}", backend().reason());
        let cells = Cells::zeroed();
        let (change, aborts) = with(Config::new().at(7, Disturbance::Signal), &cells, add);
        assert_eq!(cells.sum(), change);
        assert!(aborts >= TIMES, "{aborts} aborts: no section was cut off");
    });
}

const VARIABLE: &str = "CORELOCAL_TEST_BACKEND";
const TUNABLES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.pthread.rseq=0");

/// Four threads add; the end state is exact.
fn sum_is_exact() {
    let cells = Cells::zeroed();
    std::thread::scope(|scope| {
        (0..4).for_each(|_| {
            scope.spawn(|| (0..20_000).for_each(|_| cells.add(1)));
        });
    });
    assert_eq!(cells.sum(), 80_000);
    assert_eq!(detours().spills, 0);
}

fn in_a_child_that_asks_for(asked: Backend, name: &str) {
    let prepare = |command: &mut std::process::Command| {
        command.env(VARIABLE, asked.to_string());
    };
    alone_after(name, prepare, || {
        match asked_backend() {
            Ok(got) => assert_eq!((got, backend()), (Some(asked), asked)),
            Err(error) => {
                assert_eq!((error, asked), (ForceError::Unavailable { asked }, Backend::Rseq));
                return skip(name, &error.to_string());
            }
        }
        assert_eq!(CpuId::current().is_some(), asked != Backend::Thread);
        let again = force_backend(Backend::Thread);
        assert_eq!(again, Err(ForceError::Fixed { backend: asked }));
        println!("{asked}: {}", asked.reason());
        sum_is_exact();
    });
}

#[test]
fn a_child_that_asks_for_rseq_has_sections() {
    in_a_child_that_asks_for(Backend::Rseq, "a_child_that_asks_for_rseq_has_sections");
}

#[test]
fn a_child_that_asks_for_getcpu_has_atomics() {
    in_a_child_that_asks_for(Backend::Getcpu, "a_child_that_asks_for_getcpu_has_atomics");
}

#[test]
fn a_child_that_asks_for_thread_knows_no_cpu() {
    in_a_child_that_asks_for(Backend::Thread, "a_child_that_asks_for_thread_knows_no_cpu");
}

#[test]
fn a_backend_that_is_not_to_be_had_is_an_error_and_the_default_stays() {
    const NAME: &str = "a_backend_that_is_not_to_be_had_is_an_error_and_the_default_stays";
    if cfg!(feature = "register") {
        return skip(NAME, "with `register` there are sections without libc's registration");
    }
    let prepare = |command: &mut std::process::Command| {
        command.env(VARIABLE, "rseq").env(TUNABLES.0, TUNABLES.1);
    };
    alone_after(NAME, prepare, || {
        let asked = Backend::Rseq;
        assert_eq!(asked_backend(), Err(ForceError::Unavailable { asked }));
        assert_ne!(backend(), asked);
        sum_is_exact();
    });
}

#[test]
fn a_word_that_is_no_backend_is_an_error_and_the_default_stays() {
    const NAME: &str = "a_word_that_is_no_backend_is_an_error_and_the_default_stays";
    if cfg!(feature = "register") {
        return skip(NAME, "with `register` there are sections without libc's registration");
    }
    let prepare = |command: &mut std::process::Command| {
        command.env(VARIABLE, "RSEQ").env(TUNABLES.0, TUNABLES.1);
    };
    alone_after(NAME, prepare, || {
        assert_eq!(asked_backend(), Err(ForceError::Unknown));
        assert_eq!(backend(), Backend::Getcpu);
        sum_is_exact();
    });
}

#[test]
fn a_backend_is_forced_before_the_first_object_and_not_after_it() {
    const NAME: &str = "a_backend_is_forced_before_the_first_object_and_not_after_it";
    if cfg!(feature = "register") {
        return skip(NAME, "with `register` there are sections without libc's registration");
    }
    let prepare = |command: &mut std::process::Command| {
        command.env_remove(VARIABLE).env(TUNABLES.0, TUNABLES.1);
    };
    alone_after(NAME, prepare, || {
        let asked = Backend::Rseq;
        assert_eq!(force_backend(asked), Err(ForceError::Unavailable { asked }));
        // That fixed nothing; nor did a question for the CPU.
        assert!(CpuId::current().is_some());
        assert_eq!(force_backend(Backend::Thread), Ok(()));
        assert_eq!((backend(), CpuId::current()), (Backend::Thread, None));
        sum_is_exact();
    });
}

#[test]
fn an_object_fixes_the_backend() {
    const NAME: &str = "an_object_fixes_the_backend";
    let prepare = |command: &mut std::process::Command| {
        command.env_remove(VARIABLE);
    };
    alone_after(NAME, prepare, || {
        let cells = Cells::zeroed();
        let late = force_backend(Backend::Thread);
        let fixed = backend();
        assert_eq!(late, Err(ForceError::Fixed { backend: fixed }));
        assert_ne!(fixed, Backend::Thread);
        cells.add(1);
        assert_eq!(cells.sum(), 1);
    });
}
