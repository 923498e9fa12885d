//! What several test files need: processes of their own, memory figures, random numbers.
#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(unsafe_code, reason = "asks libc, and steps in between fork and exec")]

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Set in a child: the name of the test whose body it runs.
const CHILD: &str = "CORELOCAL_TEST_CHILD";
/// A child that hangs is killed after this many seconds, and the test fails.
const CHILD_SECONDS: u32 = 120;

/// Runs `body` in a process of its own: this test binary again, with nothing but the test `name`.
pub(crate) fn alone(name: &str, body: impl FnOnce()) {
    alone_after(name, |_| {}, body);
}

/// As [`alone`], in a child that `prepare` has changed.
///
/// # Panics
///
/// If the child fails; its output is in the message.
pub(crate) fn alone_after(name: &str, prepare: impl FnOnce(&mut Command), body: impl FnOnce()) {
    if is_child(name) {
        // SAFETY: arms a timer that kills the process; no handler is installed.
        unsafe { libc::alarm(CHILD_SECONDS) };
        return body();
    }
    let mut command = child(name);
    prepare(&mut command);
    let done = command.output().expect("the test binary runs again");
    let text = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}, in its own process: {}\n{text}", done.status);
    assert!(text.contains("1 passed"), "{name} did not run in its process:\n{text}");
    for line in text.lines().filter(|line| line.starts_with("skipped: ")) {
        skip_line(line);
    }
}

/// Whether this is the process that runs `name` alone.
pub(crate) fn is_child(name: &str) -> bool {
    std::env::var_os(CHILD).is_some_and(|value| value == name)
}

/// This test binary again, with the test `name` alone.
pub(crate) fn child(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test has a binary"));
    child_args(&mut command, name);
    command
}

/// The arguments and environment that make a test binary run `name` alone.
pub(crate) fn child_args(command: &mut Command, name: &str) {
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CHILD, name);
}

/// Prints this process's backend, its reason and its detours past the capture of output.
extern "C" fn tell_backend() {
    let (backend, detours) = (corelocal::backend(), corelocal::sys::rseq::detours());
    let (aborts, spills) = (detours.aborts, detours.spills);
    let reason = backend.reason();
    let _ =
        writeln!(io::stderr(), "backend: {backend} ({reason}); {aborts} aborts, {spills} spills");
}

/// Stands in every test binary that counts anything: no machine runs another backend unseen.
/// `RSEQ_REQUIRED=1` is for machines that are known to have sections.
#[test]
fn the_backend_is_told_and_is_the_one_that_this_machine_must_have() {
    let backend = corelocal::backend();
    if std::env::var_os("RSEQ_REQUIRED").is_some() {
        assert_eq!(backend, corelocal::Backend::Rseq, "{}", backend.reason());
    }
    // At the very end, when all detours are counted.
    // SAFETY: the function returns, and unwinds for nothing.
    assert_eq!(unsafe { libc::atexit(tell_backend) }, 0);
}

/// Makes system calls `numbers` fail with `errno` in the child, libc's own start-up included.
pub(crate) fn refuse(command: &mut Command, numbers: &[libc::c_long], errno: i32) {
    let install = refusal(numbers, errno);
    // SAFETY: two system calls, and no allocation.
    unsafe { before_exec(command, install) };
}

/// The same for this process, from here on and for ever.
pub(crate) fn refuse_here(numbers: &[libc::c_long], errno: i32) {
    refusal(numbers, errno)().expect("a filter can be installed");
}

fn refusal(
    numbers: &[libc::c_long],
    errno: i32,
) -> impl FnMut() -> io::Result<()> + Send + Sync + 'static {
    let statement = |code: u32, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for number in numbers {
        let equal = statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, *number as u32);
        program.push(libc::sock_filter { jf: 1, ..equal });
        let answer = libc::SECCOMP_RET_ERRNO | errno as u32;
        program.push(statement(libc::BPF_RET | libc::BPF_K, answer));
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    move || {
        let program =
            libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        // SAFETY: plain numbers.
        checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
        let mode = libc::SECCOMP_MODE_FILTER;
        // SAFETY: `program` points to `len` instructions, which the kernel copies.
        checked(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) })
    }
}

/// Says on the terminal, past the capture of output, why a test cannot run on this machine.
pub(crate) fn skip(name: &str, why: &str) {
    skip_line(&format!("skipped: {name}: {why}"));
}

fn skip_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Has `step` run in the child between fork and exec.
///
/// # Safety
///
/// `step` calls nothing but what is safe in a signal handler: no allocation, no lock.
pub(crate) unsafe fn before_exec(
    command: &mut Command,
    step: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: passed on to the caller.
    unsafe { command.pre_exec(step) };
}

/// From now on this thread is interrupted by SIGUSR1 every `micros` microseconds, until the timer is
/// deleted or the process ends.
///
/// `handler` may do what a signal handler may.
#[cfg(target_os = "linux")]
pub(crate) fn interrupt_every(handler: extern "C" fn(i32), micros: i64) -> libc::timer_t {
    // SAFETY: all zero is a valid action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_RESTART;
    let old = std::ptr::null_mut();
    // SAFETY: the call reads the action; the handler lives for ever.
    checked(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, old) }).unwrap();
    // SAFETY: all zero is a valid event.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGUSR1;
    // SAFETY: asks for a number.
    event.sigev_notify_thread_id = unsafe { libc::gettid() };
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: the call reads the event and writes the timer.
    let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
    checked(made).unwrap();
    // SAFETY: all zero is a valid setting.
    let mut times: libc::itimerspec = unsafe { std::mem::zeroed() };
    times.it_interval.tv_nsec = micros * 1000;
    times.it_value.tv_nsec = micros * 1000;
    let old = std::ptr::null_mut();
    // SAFETY: the timer was just made, and the call reads the times.
    checked(unsafe { libc::timer_settime(timer, 0, &raw const times, old) }).unwrap();
    timer
}

/// `status` of a libc call, as a result.
pub(crate) fn checked(status: i32) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The CPUs that this thread may run on: from libc, so that the crate is not used yet.
pub(crate) fn allowed() -> Vec<u32> {
    let mut words = [0_u64; 128];
    // SAFETY: the call writes as many bytes as it is told at most, which the array has.
    let status =
        unsafe { libc::sched_getaffinity(0, size_of_val(&words), words.as_mut_ptr().cast()) };
    assert_eq!(status, 0, "sched_getaffinity: {}", io::Error::last_os_error());
    (0..128 * 64).filter(|&cpu| words[cpu as usize / 64] >> (cpu % 64) & 1 == 1).collect()
}

/// Lets the calling thread (and those it starts later) run on one CPU only.
pub(crate) fn pin(cpu: u32) -> io::Result<()> {
    let mut words = [0_u64; 128];
    words[cpu as usize / 64] = 1 << (cpu % 64);
    // SAFETY: the call reads as many bytes as it is told, which the array has; 0 is this thread.
    checked(unsafe { libc::sched_setaffinity(0, size_of_val(&words), words.as_ptr().cast()) })
}

/// Runs `work` on four threads that change their CPU all the time.
pub(crate) fn on_moving_threads(steps: u64, work: impl Fn(&mut Rng, u64) + Sync) {
    let cpus = allowed();
    let thread = |seed: u64| {
        let mut rng = Rng::new(seed);
        for step in 0..steps {
            if step % 50 == 0 {
                pin(cpus[rng.below(cpus.len())]).expect("an allowed CPU");
            }
            work(&mut rng, step);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || thread(seed))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// How much more than usual a stress test shall do: `CORELOCAL_STRESS`, 1 without it.
pub(crate) fn stress() -> u64 {
    match std::env::var("CORELOCAL_STRESS") {
        Ok(times) => times.parse().expect("CORELOCAL_STRESS is a whole number"),
        Err(_) => 1,
    }
}

/// Resident bytes of this process, and those of its page tables: exact, unlike `statm`, which may
/// lag by some pages for each CPU.
pub(crate) fn resident() -> usize {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("smaps_rollup");
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    (kib(&rollup, "Rss:") + kib(&status, "VmPTE:")) * 1024
}

/// The figure behind `key`, in KiB.
fn kib(text: &str, key: &str) -> usize {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let figure = line.and_then(|rest| rest.trim().strip_suffix("kB"));
    figure.and_then(|figure| figure.trim().parse().ok()).unwrap_or_else(|| panic!("no {key}"))
}

/// What the system says about the mapping in which an address lies.
pub(crate) struct Smap {
    pub(crate) anon_huge_kib: usize,
    pub(crate) flags: Vec<String>,
}

/// Reads `/proc/self/smaps` for the mapping around `at`.
pub(crate) fn smap(at: usize) -> Smap {
    let smaps = std::fs::read_to_string("/proc/self/smaps").expect("smaps");
    let is_head = |line: &str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        range.and_then(|(from, to)| {
            let parse = |hex| usize::from_str_radix(hex, 16).ok();
            Some((parse(from)?, parse(to)?))
        })
    };
    let mut lines = smaps.lines();
    lines
        .find(|line| is_head(line).is_some_and(|(from, to)| (from..to).contains(&at)))
        .expect("the address is mapped");
    let rest: Vec<&str> = lines.take_while(|line| is_head(line).is_none()).collect();
    let flags = rest.iter().find_map(|line| line.strip_prefix("VmFlags:")).expect("VmFlags");
    Smap {
        anon_huge_kib: kib(&rest.join("\n"), "AnonHugePages:"),
        flags: flags.split_whitespace().map(str::to_string).collect(),
    }
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 32) as usize * bound) >> 32
    }
}

/// Whether a type may go to, or be shared with, other threads: `markers!(T)` is `(send, sync)`.
pub(crate) struct Probe<T: ?Sized>(std::marker::PhantomData<T>);

/// The answers for types that may not; an inherent constant of [`Probe`] goes before them.
pub(crate) trait MayNot {
    const SEND: bool = false;
    const SYNC: bool = false;
}
impl<T: ?Sized> MayNot for Probe<T> {}
impl<T: ?Sized + Send> Probe<T> {
    pub(crate) const SEND: bool = true;
}
impl<T: ?Sized + Sync> Probe<T> {
    pub(crate) const SYNC: bool = true;
}
