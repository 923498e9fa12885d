//! Disturbance: threads that are moved, interrupted and held up while they work.

use std::cell::Cell;
use std::mem::{MaybeUninit, size_of_val};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static ABORTS: AtomicU64 = AtomicU64::new(0);
static SPILLS: AtomicU64 = AtomicU64::new(0);
static SIGNALS: AtomicU64 = AtomicU64::new(0);
static ACTION: AtomicU32 = AtomicU32::new(0);

/// What the timer's handler does after its own step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Action {
    /// Nothing more.
    Return,
    /// Gives the CPU up.
    Yield,
    /// Sleeps for 50 us.
    Sleep,
    /// Moves its thread to another CPU.
    Migrate,
}

/// Counts an abort that a test saw.
pub fn count_abort() {
    ABORTS.fetch_add(1, Ordering::Relaxed);
}

/// Counts an operation that a test sent to the spill lane.
pub fn count_spill() {
    SPILLS.fetch_add(1, Ordering::Relaxed);
}

/// Aborts and spills, the crate's own among them, and signals handled.
pub fn counts() -> (u64, u64, u64) {
    let own = corelocal::sys::rseq::detours();
    (
        ABORTS.load(Ordering::Relaxed) + own.aborts as u64,
        SPILLS.load(Ordering::Relaxed) + own.spills as u64,
        SIGNALS.load(Ordering::Relaxed),
    )
}

/// CPU lanes that the tests make: as many as the crate's own objects have.
pub fn cpus() -> u32 {
    static CPUS: AtomicU32 = AtomicU32::new(0);
    match CPUS.load(Ordering::Relaxed) {
        0 => {
            let cpus = corelocal::Topology::current().cpus();
            CPUS.store(cpus, Ordering::Relaxed);
            cpus
        }
        cpus => cpus,
    }
}

/// The CPU that this thread was on just now; 0 if the system does not say.
pub fn cpu() -> u32 {
    // SAFETY:
    // - takes nothing, touches no memory of ours.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// The CPUs that this thread may run on.
pub fn allowed() -> Vec<u32> {
    allowed_to(0)
}

/// The CPUs that `thread` may run on; 0 is this one.
fn allowed_to(thread: i32) -> Vec<u32> {
    let mut set = [0u64; 128];
    // SAFETY:
    // - the buffer is as long as we say.
    let size =
        unsafe { libc::sched_getaffinity(thread, size_of_val(&set), set.as_mut_ptr().cast()) };
    if size != 0 {
        return Vec::new();
    }
    (0..8192).filter(|cpu| set[*cpu as usize / 64] >> (cpu % 64) & 1 == 1).collect()
}

/// Lets thread `thread` (0: this one) run on `cpus` only. Says whether it worked.
pub fn pin(thread: i32, cpus: &[u32]) -> bool {
    let mut set = [0u64; 128];
    for cpu in cpus {
        set[*cpu as usize / 64] |= 1 << (cpu % 64);
    }
    // SAFETY:
    // - the buffer is as long as we say.
    unsafe { libc::sched_setaffinity(thread, size_of_val(&set), set.as_ptr().cast()) == 0 }
}

/// This thread's number.
pub fn thread_id() -> i32 {
    // SAFETY:
    // - takes nothing.
    unsafe { libc::gettid() }
}

/// A closure's address, and what calls it.
type Step = (*const (), unsafe fn(*const ()));

thread_local! {
    static RANDOM: Cell<u64> = const { Cell::new(0) };
    static STEP: Cell<Option<Step>> = const { Cell::new(None) };
}

/// A number of this thread's own sequence; safe in its signal handler.
pub fn random() -> u64 {
    let mut state = RANDOM.get();
    if state == 0 {
        state = 0x9E37_79B9_7F4A_7C15 ^ (thread_id() as u64) << 20;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    RANDOM.set(state);
    state
}

/// What the handler does from now on, in every thread.
pub fn set_action(action: Action) {
    ACTION.store(action as u32, Ordering::Relaxed);
}

extern "C" fn handler(_signal: i32) {
    // SAFETY:
    // - takes nothing.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY:
    // - this thread's own word, always there.
    let before = unsafe { errno.read() };
    SIGNALS.fetch_add(1, Ordering::Relaxed);
    if let Some((data, step)) = STEP.get() {
        // SAFETY:
        // - set by `interrupted`, which has not ended.
        unsafe { step(data) };
    }
    match ACTION.load(Ordering::Relaxed) {
        1 => std::thread::yield_now(),
        2 => std::thread::sleep(std::time::Duration::from_micros(50)),
        3 => move_on(0),
        _ => {}
    }
    // SAFETY:
    // - as above.
    unsafe { errno.write(before) };
}

/// The CPUs of the process's first thread, which nobody moves.
fn all_cpus() -> &'static [u32] {
    static CPUS: std::sync::OnceLock<Vec<u32>> = std::sync::OnceLock::new();
    CPUS.get_or_init(|| allowed_to(std::process::id() as i32))
}

/// Moves a thread to one CPU, at random. In a handler: only after `interrupted` began.
pub fn move_on(thread: i32) {
    let cpus = all_cpus();
    if let Some(cpu) = cpus.get(random() as usize % cpus.len().max(1)) {
        let _ = pin(thread, &[*cpu]);
    }
}

/// Runs `body`; every `micros` microseconds a signal runs `step` on this thread.
pub fn interrupted<S: Fn()>(micros: u32, step: &S, body: impl FnOnce()) {
    /// # Safety
    ///
    /// `data` is the address of an `S`.
    unsafe fn call<S: Fn()>(data: *const ()) {
        // SAFETY:
        // - `data` came from the `&S` below.
        (unsafe { &*data.cast::<S>() })();
    }
    install();
    STEP.set(Some((ptr::from_ref(step).cast(), call::<S>)));
    let timer = start_timer(micros);
    body();
    // SAFETY:
    // - the timer is ours, and alive.
    unsafe { libc::timer_delete(timer) };
    STEP.set(None);
}

fn install() {
    // Now, and not first in the handler.
    let _ = all_cpus();
    // SAFETY:
    // - all zero is a valid action.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as extern "C" fn(i32) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY:
    // - the handler is safe in a signal: it uses atomics and constant thread-locals.
    let result = unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut()) };
    assert_eq!(result, 0);
}

fn start_timer(micros: u32) -> libc::timer_t {
    // SAFETY:
    // - all zero is a valid event.
    let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGUSR1;
    event.sigev_notify_thread_id = thread_id();
    let mut timer: libc::timer_t = ptr::null_mut();
    // SAFETY:
    // - both live for the call.
    let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
    assert_eq!(made, 0, "no timer");
    let often = libc::timespec { tv_sec: 0, tv_nsec: i64::from(micros) * 1000 };
    let setting = libc::itimerspec { it_interval: often, it_value: often };
    // SAFETY:
    // - the timer was just made; the setting lives for the call.
    let set = unsafe { libc::timer_settime(timer, 0, &raw const setting, ptr::null_mut()) };
    assert_eq!(set, 0, "timer not set");
    timer
}

/// Takes this thread's registration away: its id word is -1 from here on. Says whether
/// there was one.
pub fn unregister() -> bool {
    const UNREGISTER: i32 = 1;
    const SIGNATURE: u32 = if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00 };
    let Some(area) = corelocal::sys::rseq::thread_area() else { return false };
    [32u32, 40, 64].iter().any(|length| {
        // SAFETY:
        // - the kernel compares with what is registered and forgets it; it writes the id word.
        unsafe { libc::syscall(libc::SYS_rseq, area, *length, UNREGISTER, SIGNATURE) == 0 }
    })
}
