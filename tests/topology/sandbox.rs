//! Child processes in conditions that a process cannot be brought into later:
//! pinned, without libc's registration, with refused system calls.
#![allow(unsafe_code, reason = "seccomp filters and affinity of a child before it starts")]

use corelocal::cpu::CpuId;
use corelocal::sys::{MAX_CPUS, Topology, backend};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What a child finds, in lines that [`run`] reads. A test of its own as well.
#[test]
fn report() {
    let topology = Topology::current();
    for _ in 0..1000 {
        if let Some(id) = CpuId::current() {
            assert!(id.get() < MAX_CPUS);
        }
    }
    let id = CpuId::current();
    // The test runner has begun the line.
    println!("\nreport id={:?}", id.map(CpuId::get));
    println!("report backend={}", backend());
    println!("report reason={}", backend().reason());
    println!("report cpus={}", topology.cpus());
    println!("report possible={}", topology.possible());
    println!("report allowed={}", topology.allowed());
    println!("report node={:?}", id.and_then(|id| topology.node_of(id)));
}

type Report = BTreeMap<String, String>;

/// This test binary again, running [`report`] only.
fn child() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sandbox::report", "--nocapture"]);
    command
}

/// Runs a child and reads its report; `None`, with a message, if the condition
/// cannot be made on this machine.
fn run(mut command: Command) -> Option<Report> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: {command:?} cannot be started so: {error}");
            return None;
        }
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    let pairs = text.lines().filter_map(|line| line.strip_prefix("report ")?.split_once('='));
    Some(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Makes system calls `numbers` fail with `errno` in the child, libc's own start-up included.
fn refuse(command: &mut Command, numbers: &[libc::c_long], errno: i32) {
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let load_number = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let skip_unless_equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let mut program = vec![statement(load_number, 0)];
    for number in numbers {
        let k = u32::try_from(*number).unwrap();
        program.push(libc::sock_filter { code: skip_unless_equal, jt: 0, jf: 1, k });
        program.push(statement(answer, libc::SECCOMP_RET_ERRNO | errno as u32));
    }
    program.push(statement(answer, libc::SECCOMP_RET_ALLOW));
    let install = move || {
        let program =
            libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        // SAFETY:
        // - the call takes plain numbers.
        check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
        // SAFETY:
        // - `program` points to `len` instructions, which the kernel copies.
        check(unsafe {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        })
    };
    // SAFETY:
    // - between fork and exec, `install` makes two system calls and allocates nothing.
    unsafe { command.pre_exec(install) };
}

/// Lets the child run on `cpu` only, as `taskset -c` does.
fn pin(command: &mut Command, cpu: CpuId) {
    let mut words = vec![0_usize; 1024];
    words[cpu.index() / usize::BITS as usize] |= 1 << (cpu.index() % usize::BITS as usize);
    let apply = move || {
        // SAFETY:
        // - `words` is readable for the length that is passed.
        check(unsafe {
            libc::sched_setaffinity(0, words.len() * size_of::<usize>(), words.as_ptr().cast())
        })
    };
    // SAFETY:
    // - between fork and exec, `apply` makes one system call and allocates nothing.
    unsafe { command.pre_exec(apply) };
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

const ASKED: [libc::c_long; 3] = [libc::SYS_rseq, libc::SYS_getcpu, libc::SYS_sched_getaffinity];

/// A1, <https://github.com/jemalloc/jemalloc/issues/2054>; J6,
/// <https://github.com/RRZE-HPC/likwid/issues/630>.
#[test]
fn a_pinned_process_has_the_lanes_of_the_whole_machine_and_its_own_id() {
    let here = Topology::current();
    let Some(last) = here.allowed().last() else {
        eprintln!("skipped: the system does not say which CPUs are allowed");
        return;
    };
    let mut command = child();
    pin(&mut command, last);
    let Some(report) = run(command) else { return };
    assert_eq!(report["allowed"], last.to_string());
    assert_eq!(report["cpus"], here.cpus().to_string());
    assert_eq!(report["possible"], here.possible().to_string());
    if report["id"] != "None" {
        assert_eq!(report["id"], format!("{:?}", Some(last.get())));
        assert_eq!(report["node"], format!("{:?}", here.node_of(last)));
    }
}

/// D7, <https://github.com/ClickHouse/ClickHouse/pull/113501>: no registration by libc.
#[test]
fn without_libcs_registration_the_id_comes_from_the_system() {
    let mut command = child();
    command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let Some(report) = run(command) else { return };
    if cfg!(feature = "register") {
        eprintln!("skipped: the crate registers its threads itself (see `tests/register`)");
        return;
    }
    assert_ne!(report["backend"], "rseq");
    if cfg!(target_env = "gnu") {
        assert_eq!(report["backend"], "getcpu");
        assert!(report["reason"].contains("no thread area"), "{}", report["reason"]);
        assert_ne!(report["id"], "None");
    }
}

/// D8, <https://github.com/systemd/systemd/issues/12127>,
/// <https://github.com/opencontainers/runc/issues/2151>: EPERM and ENOSYS are both "not here".
#[test]
fn a_sandbox_that_refuses_the_calls_costs_the_answers_and_nothing_else() {
    let here = Topology::current();
    for errno in [libc::EPERM, libc::ENOSYS, libc::EINVAL] {
        let mut command = child();
        refuse(&mut command, &ASKED, errno);
        let Some(report) = run(command) else { return };
        assert_eq!(report["allowed"], here.online().to_string(), "errno {errno}");
        assert_ne!(report["backend"], "rseq", "errno {errno}");
        assert_eq!(report["cpus"], here.cpus().to_string(), "errno {errno}");
        assert_eq!(report["id"] == "None", report["backend"] == "thread", "errno {errno}");
    }
}

/// D8, B7: however often one asks, refused calls are few.
#[test]
fn refused_calls_are_not_made_again_and_again() {
    let Some(trace) = trace(|command| refuse(command, &ASKED, libc::EPERM)) else { return };
    let refused = trace.lines().filter(|line| line.contains("EPERM")).count();
    assert!(refused < 20, "{refused} refused calls:\n{trace}");
}

/// B7, <https://github.com/xacrimon/dashmap/issues/219>: the machine is read once, and
/// the number of files does not grow with the number of questions.
#[test]
fn a_thousand_questions_open_a_handful_of_files() {
    let Some(trace) = trace(|_| {}) else { return };
    let opened = |line: &&str| line.contains("openat(") && line.contains("/sys/devices/system/cpu");
    let opened = trace.lines().filter(opened).count();
    // `possible` for the lanes, `possible` and `online` for the topology.
    assert!((1..=3).contains(&opened), "{opened} files:\n{trace}");
}

/// The system calls of a child; `None`, with a message, if they cannot be traced here.
fn trace(prepare: impl FnOnce(&mut Command)) -> Option<String> {
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=openat,rseq,getcpu,sched_getaffinity", "--"]);
    let child = child();
    command.arg(child.get_program()).args(child.get_args());
    prepare(&mut command);
    match command.output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stderr).into_owned())
        }
        Ok(output) => {
            eprintln!("skipped: strace: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        Err(error) => {
            eprintln!("skipped: strace cannot be started: {error}");
            None
        }
    }
}

/// D14, <https://github.com/spacejam/sled/issues/1232>, <https://github.com/metrics-rs/quanta/issues/56>.
#[test]
#[cfg(target_arch = "x86_64")]
fn no_instruction_that_old_machines_lack_asks_for_the_cpu() {
    let exe = std::env::current_exe().unwrap();
    let output = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(exe).output();
    let text = match output {
        Ok(output) if output.status.success() => output.stdout,
        other => {
            eprintln!("skipped: objdump: {:?}", other.map(|output| output.status));
            return;
        }
    };
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("%fs:"), "the disassembly must show the thread pointer's use");
    let bad: Vec<&str> =
        text.lines().filter(|line| line.contains("\trdtscp") || line.contains("\trdpid")).collect();
    assert!(bad.is_empty(), "{bad:?}");
}
