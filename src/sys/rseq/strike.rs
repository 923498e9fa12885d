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
    let over = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let _over = Over(&over);
        std::thread::Builder::new()
            .spawn_scoped(scope, || watch(hold, thread, &over))
            .expect("testing::with needs a thread that disturbs");
        body()
    })
}

/// Each attempt is struck once at each point.
fn watch(hold: &Hold, thread: i32, over: &AtomicU32) {
    let mut last = None;
    // Relaxed: a sign to stop.
    while over.load(Ordering::Relaxed) == 0 {
        match hold.waiting() {
            Some((attempt, point, what)) if last != Some((attempt, point)) => {
                last = Some((attempt, point));
                strike(hold, thread, point, what);
            }
            _ => std::thread::sleep(LOOK),
        }
    }
}

fn strike(hold: &Hold, thread: i32, point: usize, what: Disturbance) {
    if what != Disturbance::Migrate {
        let process = std::process::id();
        // SAFETY:
        // - three numbers; the thread lives, since it waits for this one to end.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGURG) };
        return;
    }
    if !migrate(thread, hold.cpu()) || is_outside(point) {
        hold.points.set(point, 0);
    }
}

/// Where nothing is cut off, so that the wait has to be ended. (Not elsewhere: a strike that comes
/// late would end the wait of the next attempt before it begins.)
fn is_outside(point: usize) -> bool {
    point == 0 || point == Points::COUNT - 1
}

/// A set of CPUs as the system takes it.
type Set = [usize; WORDS];
const WORDS: usize = super::super::MAX_CPUS as usize / usize::BITS as usize;

/// Moves `thread`, which was on `from`, to another of its CPUs. Says whether there is another,
/// and the system did it.
fn migrate(thread: i32, from: usize) -> bool {
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
        if is_outside(point) {
            hold.points.set(point, 0);
        }
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
