//! Who disturbs a section that waits at a point: a thread beside the test's, and a signal.
//!
//! The signal is `SIGURG`, which a process that wants nothing of it ignores. Its handler is
//! there while a call of `with` wants it; then the earlier one is back.
#![allow(unsafe_code, reason = "signals, and other threads' sets of CPUs")]

use super::Points;
use super::inject::{Disturbance, Hold, current};
use crate::sync::plain::AtomicU32;
use crate::sync::{Mutex, Ordering};
use core::mem::{MaybeUninit, size_of_val};
use core::ptr;
use std::sync::PoisonError;
use std::time::Duration;

/// Between two looks at whether the thread waits.
const LOOK: Duration = Duration::from_micros(20);

/// Runs `body` with somebody beside this thread who strikes it where it waits.
///
/// # Panics
///
/// If the system refuses the thread or the handler.
pub(super) fn beside<R>(hold: &Hold, body: impl FnOnce() -> R) -> R {
    /// Ends the other thread, also when `body` panics.
    struct Over<'a>(&'a AtomicU32);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            // Relaxed: a sign to stop.
            self.0.store(1, Ordering::Relaxed);
        }
    }
    // SAFETY:
    // - takes nothing.
    let thread = unsafe { libc::gettid() };
    let _handler = Handler::install();
    let clock = own_clock();
    let over = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let _over = Over(&over);
        std::thread::Builder::new()
            .spawn_scoped(scope, || watch(hold, &Struck { thread, clock, over: &over }))
            .expect("testing::with needs a thread that disturbs");
        body()
    })
}

/// The thread that is struck, as the other one knows it.
struct Struck<'a> {
    thread: i32,
    /// The time that it has run.
    clock: libc::clockid_t,
    over: &'a AtomicU32,
}

impl Struck<'_> {
    fn is_over(&self) -> bool {
        // Relaxed: a sign to stop.
        self.over.load(Ordering::Relaxed) != 0
    }

    /// The time that it has run; 0 if the system does not say.
    fn ran(&self) -> Duration {
        let mut time = MaybeUninit::<libc::timespec>::zeroed();
        // SAFETY:
        // - the place is writable, and the clock's thread lives, since it waits for this one.
        unsafe { libc::clock_gettime(self.clock, time.as_mut_ptr()) };
        // SAFETY:
        // - zero bytes are a time, and so is what the system wrote.
        let time = unsafe { time.assume_init() };
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    }

    /// Waits until it has run where it is now: while it is only queued there, an idle CPU takes
    /// it away as soon as it may.
    fn wait_until_it_runs(&self) {
        let before = self.ran();
        while !self.is_over() && self.ran() == before {
            std::thread::sleep(LOOK);
        }
    }
}

/// The clock of the time that the calling thread has run; other threads may read it.
fn own_clock() -> libc::clockid_t {
    let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
    // SAFETY:
    // - takes nothing.
    let this = unsafe { libc::pthread_self() };
    // SAFETY:
    // - the calling thread lives, and the place is writable.
    unsafe { libc::pthread_getcpuclockid(this, &raw mut clock) };
    clock
}

/// Each attempt is struck once at each point.
fn watch(hold: &Hold, struck: &Struck<'_>) {
    let mut last = None;
    while !struck.is_over() {
        match hold.waiting() {
            Some((attempt, point, what)) if last != Some((attempt, point)) => {
                last = Some((attempt, point));
                strike(hold, struck, point, what);
            }
            still => {
                std::thread::sleep(LOOK);
                // It counted a turn while its wait was ended, and what it counted won.
                if let Some((_, point, _)) = still.filter(|_| still == hold.waiting()) {
                    end_wait(hold, point);
                }
            }
        }
    }
}

fn strike(hold: &Hold, struck: &Struck<'_>, point: usize, what: Disturbance) {
    let thread = struck.thread;
    if what != Disturbance::Migrate {
        let process = std::process::id();
        // SAFETY:
        // - three numbers; the thread lives, since it waits for this one to end.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGURG) };
        return;
    }
    if migrate(struck, hold.cpu()) {
        end_wait(hold, point);
    } else {
        hold.points.set(point, 0);
    }
}

/// Ends the wait at a point where nothing is cut off. (Not elsewhere: a strike that comes late
/// would end the wait of the next attempt before it begins.)
fn end_wait(hold: &Hold, point: usize) {
    if point == 0 || point == Points::COUNT - 1 {
        hold.points.set(point, 0);
    }
}

/// A set of CPUs as the system takes it.
type Set = [usize; WORDS];
const WORDS: usize = super::super::MAX_CPUS as usize / usize::BITS as usize;

/// Moves the thread, which was on `from`, to another of its CPUs, and lets it run there. Says
/// whether there is another, and the system did it.
fn migrate(struck: &Struck<'_>, from: usize) -> bool {
    let thread = struck.thread;
    let mut all: Set = [0; WORDS];
    // SAFETY:
    // - the set is writable for exactly the length that is passed.
    let read =
        unsafe { libc::sched_getaffinity(thread, size_of_val(&all), all.as_mut_ptr().cast()) };
    let bits = usize::BITS as usize;
    let is_in = |cpu: &usize| all[cpu / bits] >> (cpu % bits) & 1 == 1;
    let others = (from + 1..all.len() * bits).chain(0..from);
    let Some(other) = others.into_iter().find(is_in) else { return false };
    // In case that it is no longer there: from one to the other it is moved anyway.
    let moved = [from, other].into_iter().filter(is_in).all(|cpu| {
        let mut one: Set = [0; WORDS];
        one[cpu / bits] = 1 << (cpu % bits);
        set(thread, &one)
    });
    if moved {
        struck.wait_until_it_runs();
    }
    read == 0 && moved && set(thread, &all)
}

fn set(thread: i32, cpus: &Set) -> bool {
    // SAFETY:
    // - the set is readable for exactly the length that is passed.
    unsafe { libc::sched_setaffinity(thread, size_of_val(cpus), cpus.as_ptr().cast()) == 0 }
}

/// The cut-off section's thread comes here; it may be asked for nothing at all.
extern "C" fn on_signal(_signal: i32) {
    // SAFETY:
    // - takes nothing.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY:
    // - this thread's own word, always there.
    let before = unsafe { errno.read() };
    if let Some(hold) = current() {
        let point = hold.points.at();
        match hold.strike_at(point) {
            Some(Disturbance::Yield) => std::thread::yield_now(),
            Some(Disturbance::Sleep(time)) => std::thread::sleep(time),
            _ => {}
        }
        end_wait(hold, point);
    }
    // SAFETY:
    // - as above.
    unsafe { errno.write(before) };
}

/// How many want the handler, and what was there before the first of them.
static HANDLER: Mutex<(u32, Option<libc::sigaction>)> = Mutex::new((0, None));

/// The handler is installed while one of these lives.
struct Handler;

impl Handler {
    fn install() -> Self {
        let mut state = HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 == 0 {
            let mut ours = empty();
            ours.sa_sigaction = on_signal as extern "C" fn(i32) as usize;
            ours.sa_flags = libc::SA_RESTART;
            state.1 = Some(exchange(&ours).expect("testing::with needs a handler for SIGURG"));
        }
        state.0 += 1;
        Self
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        let mut state = HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 -= 1;
        let earlier = if state.0 == 0 { state.1.take() } else { None };
        if let Some(earlier) = earlier {
            let _ = exchange(&earlier);
        }
    }
}

fn empty() -> libc::sigaction {
    // SAFETY:
    // - all zero is an action: the default one, with nothing blocked.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Installs `action`; the one before. `None` if the system refuses.
fn exchange(action: &libc::sigaction) -> Option<libc::sigaction> {
    let mut before = empty();
    // SAFETY:
    // - both are there for the call;
    // - a handler of ours is safe in a signal: atomics, a constant thread-local, two calls.
    let done = unsafe { libc::sigaction(libc::SIGURG, ptr::from_ref(action), &raw mut before) };
    (done == 0).then_some(before)
}
