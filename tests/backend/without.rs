//! Processes that are refused what sections, or the CPU id, need.

use crate::common::{child_args, refuse, skip};
use crate::report::{Report, THREADS, expected, read, working};
use std::process::Command;

/// What sandboxes are known to refuse, one after the other and all together.
const REFUSED: [libc::c_long; 7] = [
    libc::SYS_rseq,
    libc::SYS_getcpu,
    libc::SYS_membarrier,
    libc::SYS_sched_getaffinity,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_get_mempolicy,
];

fn refused(calls: &[libc::c_long], errno: i32) -> Report {
    let mut command = working(16);
    refuse(&mut command, calls, errno);
    let report = read(&command.output().expect("the test binary runs again"));
    assert_eq!(report["sum"], expected(16), "{calls:?} with {errno}: {report:?}");
    assert!(!report["reason"].is_empty());
    report
}

/// D8, <https://github.com/systemd/systemd/issues/12127>,
/// <https://github.com/DMOJ/judge-server/pull/1031>,
/// <https://github.com/opencontainers/runc/issues/2151>: EPERM taken as fatal, or ENOSYS alone
/// understood.
#[test]
fn whatever_a_sandbox_refuses_the_sums_are_the_same_and_nothing_is_printed() {
    let usual = read(&working(16).output().expect("the test binary runs again"));
    for errno in [libc::EPERM, libc::ENOSYS] {
        for call in REFUSED {
            let report = refused(&[call], errno);
            if call == libc::SYS_rseq {
                assert_ne!(report["backend"], "rseq", "{report:?}");
            } else {
                assert_eq!(report["backend"], usual["backend"], "{call} with {errno}: {report:?}");
            }
        }
        let report = refused(&REFUSED, errno);
        assert_ne!(report["backend"], "rseq", "{report:?}");
        assert_eq!(report["fence"], "false");
    }
}

/// D15, <https://github.com/google/gvisor/issues/267>, <https://github.com/moby/moby/pull/40731>:
/// no barrier across CPUs. Counting does not need one.
#[test]
fn without_membarrier_the_fence_is_refused_and_sections_count_on() {
    let usual = read(&working(16).output().expect("the test binary runs again"));
    for errno in [libc::EPERM, libc::ENOSYS, libc::EINVAL] {
        let report = refused(&[libc::SYS_membarrier], errno);
        assert_eq!((&*report["fence"], &report["backend"]), ("false", &usual["backend"]));
    }
}

/// D8: calls that failed, by name, in a child that does the work `rounds` times.
fn failed(rounds: u64) -> Option<Vec<String>> {
    let log = std::env::temp_dir().join(format!("corelocal-refused-{}", std::process::id()));
    let mut command = Command::new("strace");
    let calls = "rseq,getcpu,membarrier,sched_getaffinity,mbind,set_mempolicy,get_mempolicy";
    command.args(["-f", "-qq", "-e", &format!("trace={calls}"), "-o"]).arg(&log);
    let child = working(rounds);
    command.arg(child.get_program()).args(child.get_args());
    command.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    refuse(&mut command, &REFUSED, libc::EPERM);
    let done = command.output().ok().filter(|done| done.status.success());
    let text = std::fs::read_to_string(&log);
    let _ = std::fs::remove_file(log);
    let text = done.and(text.ok())?;
    // `PID name(..` or `PID <... name resumed>..`
    let name = |line: &str| {
        let call = line.split_once(' ')?.1.trim_start().trim_start_matches("<... ");
        Some(call.split(['(', ' ']).next()?.to_owned())
    };
    Some(text.lines().filter(|line| line.contains("EPERM")).filter_map(name).collect())
}

/// D8, <https://github.com/google/syzkaller/pull/3869>: a call that was refused is not made again,
/// however much is done and however often one asks.
#[test]
fn a_refused_call_is_not_made_again() {
    let (Some(once), Some(often)) = (failed(1), failed(200)) else {
        return skip("a_refused_call_is_not_made_again", "no strace, or it may not trace");
    };
    let count = |calls: &[String], name: &str| calls.iter().filter(|call| *call == name).count();
    for name in ["membarrier", "sched_getaffinity", "mbind", "getcpu", "rseq"] {
        assert_eq!(count(&once, name), count(&often, name), "{name}: {often:?}");
    }
    assert_eq!(count(&often, "membarrier"), 1, "asked once: {often:?}");
    // Each thread's start asks for itself (the standard library looks for its stack in that way).
    let of_threads = THREADS as usize + 1;
    let ours = count(&often, "sched_getaffinity") - of_threads;
    assert!(ours <= 3, "for lanes and topology: {often:?}");
    assert!(count(&often, "mbind") + count(&often, "getcpu") <= 2, "{often:?}");
}

/// D1, D7: libc registers nothing, by its tunable.
#[test]
fn with_the_registration_switched_off_the_sums_are_the_same() {
    let mut command = working(16);
    command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let report = read(&command.output().expect("the test binary runs again"));
    assert_eq!(report["sum"], expected(16));
    // The feature is there to have sections all the same.
    if cfg!(target_env = "gnu") && !cfg!(feature = "register") {
        assert_eq!((&*report["backend"], &*report["spills"]), ("getcpu", "0"), "{report:?}");
        assert!(report["reason"].contains("no thread area"), "{report:?}");
    }
}

/// An emulator that knows nothing of sections, or not all: it must not meet one.
#[test]
fn under_valgrind_the_sums_are_the_same_and_the_backend_says_why() {
    let name = "under_valgrind_the_sums_are_the_same_and_the_backend_says_why";
    let mut command = Command::new("valgrind");
    command.args(["-q", "--tool=none"]).arg(std::env::current_exe().unwrap());
    child_args(&mut command, "report::every_operation_counts_and_the_backend_says_why");
    let done = match command.output() {
        Ok(done) => done,
        Err(error) => return skip(name, &format!("valgrind cannot be started: {error}")),
    };
    if String::from_utf8_lossy(&done.stderr).contains("valgrind: failed to start") {
        return skip(name, "valgrind does not start here");
    }
    let report = read(&done);
    assert_eq!(report["sum"], expected(16));
    assert_ne!(report["backend"], "rseq", "{report:?}");
    assert!(!report["reason"].is_empty());
}
