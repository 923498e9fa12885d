//! The feature `register`: a thread area of the crate's own, where libc registers none.
//!
//! The area is a thread-local of the program, so its distance from the thread pointer is one
//! number for all threads, and the hot path is the same as with libc's. Before a thread is
//! registered the area's id word says -1, which takes its first operation to the cold path;
//! that registers the thread ([`join`]) and tries again.
//!
//! What makes it safe:
//!
//! * **Only in the program itself**, never in a shared library. The storage of a library that
//!   is loaded later lies at another distance in each thread, and ends when it is unloaded:
//!   the kernel kills a process whose registered area is gone.
//! * **Unregistered before the thread ends**, by the destructor of a `pthread` key. It runs
//!   after the destructors of Rust's and C++'s thread-locals (with glibc), and setting it
//!   allocates nothing: the first operation of a thread may be in a signal handler, or in the
//!   program's own allocator.
//! * **Nobody is pushed aside.** The kernel knows one area a thread. A thread that another
//!   library registered keeps that one; here its id word stays -1, and it works on the spill
//!   lane. If the thread that chooses the backend is such a one, so will the others be: then the
//!   process has no areas of ours.
//! * A forked child's thread keeps its registration, and the state that says so.
#![allow(unsafe_code, reason = "makes system calls, and owns memory that the kernel writes")]

use super::super::os::ThreadArea;
use super::Refusal;
use super::abi::{self, CPU_ID};
use super::arch::thread_pointer;
use crate::sync::Ordering;
use crate::sync::plain::AtomicU32;
use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_int, c_void};
use core::mem::size_of;
use core::ptr;

/// Room for one area, at the largest size and alignment that we expect to be advertised.
#[repr(C, align(128))]
struct Room(UnsafeCell<[u32; 32]>);

/// The first version's size and alignment, which every kernel accepts.
const FIRST: u32 = 32;
const ROOM: u32 = size_of::<Room>() as u32;

std::thread_local! {
    static AREA: Room = const {
        let mut words = [0; 32];
        words[CPU_ID / 4] = u32::MAX;
        Room(UnsafeCell::new(words))
    };
    /// The kernel was asked for this thread, or the thread is ending.
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// What the process decided: one word, complete in itself, so that neither a race, nor a signal
/// handler, nor a forked child finds it half done. See [`State`].
static STATE: AtomicU32 = AtomicU32::new(UNASKED);
const UNASKED: u32 = u32::MAX;
const CLOSED: u32 = 1 << 31;
const REFUSED: u32 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Unasked,
    /// Threads are registered; the key whose destructor takes that back.
    Open(libc::pthread_key_t),
    /// Some were, until the system refused one: no other thread is asked.
    Closed,
    Refused(Refusal),
}

impl State {
    fn of(word: u32) -> Self {
        match word {
            UNASKED => Self::Unasked,
            REFUSED => Self::Refused(Refusal::Library),
            _ if word & CLOSED != 0 => Self::Closed,
            _ if word & REFUSED != 0 => Self::Refused(Refusal::System((word ^ REFUSED) as i32)),
            key => Self::Open(key),
        }
    }

    fn load() -> Self {
        // Relaxed: the word is the whole message.
        Self::of(STATE.load(Ordering::Relaxed))
    }
}

/// The crate's own area, if this process uses one. The first call decides, and registers its thread.
pub(in super::super) fn area() -> Option<ThreadArea> {
    if State::load() == State::Unasked {
        decide();
    }
    match State::load() {
        State::Open(_) | State::Closed => Some(ThreadArea {
            offset: place().addr().wrapping_sub(thread_pointer().addr()) as isize,
            size: length(),
        }),
        State::Unasked | State::Refused(_) => None,
    }
}

/// Why there is none; `None` also where libc's area leaves nothing to ask.
pub(in super::super) fn refusal() -> Option<Refusal> {
    match State::load() {
        State::Refused(why) => Some(why),
        _ => None,
    }
}

/// Whether [`join`] would ask the system.
#[cold]
#[inline(never)]
pub(in super::super) fn can_join() -> bool {
    matches!(State::load(), State::Open(_)) && !ASKED.get()
}

/// Registers this thread, if that is not done and nothing speaks against it. Says whether this
/// call did it.
#[cold]
#[inline(never)]
pub(in super::super) fn join() -> bool {
    let State::Open(key) = State::load() else { return false };
    match ask(key) {
        Err(libc::EPERM | libc::ENOSYS) => {
            // Relaxed: as in `load`. A sandbox that came later stays.
            STATE.fetch_or(CLOSED, Ordering::Relaxed);
            false
        }
        answer => answer.is_ok(),
    }
}

#[cold]
fn decide() {
    let found = match open() {
        Ok(key) => key,
        Err(Refusal::Library) => REFUSED,
        Err(Refusal::System(errno)) => REFUSED | errno as u32,
    };
    // Relaxed: as in `load`. The thread of a loser keeps what it has, its key included: a number
    // is lost, once.
    let _ = STATE.compare_exchange(UNASKED, found, Ordering::Relaxed, Ordering::Relaxed);
}

/// A key, and this thread registered.
fn open() -> Result<libc::pthread_key_t, Refusal> {
    if !is_in_program() {
        return Err(Refusal::Library);
    }
    let mut key = 0;
    // SAFETY:
    // - the call writes the key; the destructor is part of the program, which is never unloaded.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(leave)) };
    if made != 0 {
        return Err(Refusal::System(made));
    }
    let answer = if key < KEYS { ask(key) } else { Err(libc::EAGAIN) };
    answer.map(|()| key).map_err(|errno| {
        // SAFETY:
        // - the key was just made, and this thread's value is null.
        unsafe { libc::pthread_key_delete(key) };
        Refusal::System(errno)
    })
}

/// Keys that a thread can set without an allocation: with glibc the first 32 of a process.
const KEYS: libc::pthread_key_t = if cfg!(target_env = "musl") { 128 } else { 32 };

/// Asks the kernel for this thread: once in its life.
///
/// # Errors
///
/// The error number. A thread that was asked for already is `EAGAIN`.
fn ask(key: libc::pthread_key_t) -> Result<(), c_int> {
    if ASKED.replace(true) {
        return Err(libc::EAGAIN);
    }
    let errno = errno();
    // SAFETY:
    // - this thread's own word, which is always there.
    let before = unsafe { errno.read() };
    // The destructor first: no thread ends with a registration that nobody takes back.
    let answer = mark(key, ptr::without_provenance(1)).and_then(|()| match rseq(0) {
        // By a signal handler, since the first line.
        Err(libc::EBUSY) => Ok(()),
        other => other,
    });
    if answer.is_err() {
        let _ = mark(key, ptr::null());
    }
    // What interrupted nobody sees: this may be a signal handler.
    // SAFETY:
    // - as above.
    unsafe { errno.write(before) };
    answer
}

/// Gives this thread a value for the key: one that is not null has the destructor run.
fn mark(key: libc::pthread_key_t, value: *const c_void) -> Result<(), c_int> {
    // SAFETY:
    // - the key was made by `open`; the value is never followed.
    match unsafe { libc::pthread_setspecific(key, value) } {
        0 => Ok(()),
        errno => Err(errno),
    }
}

/// The destructor: from here on this thread's id word is -1 again, and it is not asked for.
extern "C" fn leave(_: *mut c_void) {
    const UNREGISTER: c_int = 1;
    let _ = rseq(UNREGISTER);
}

/// The system call, for this thread's area.
fn rseq(flags: c_int) -> Result<(), c_int> {
    // SAFETY:
    // - the area is as long and as aligned as we say, belongs to this thread, and lives until
    //   the thread has unregistered it;
    // - its words are loaded by `asm!` alone, since the kernel changes them.
    let result = unsafe { libc::syscall(libc::SYS_rseq, place(), length(), flags, SIGNATURE) };
    if result == 0 {
        return Ok(());
    }
    // SAFETY:
    // - this thread's own word, which is always there.
    Err(unsafe { errno().read() })
}

/// What stands before each abort handler, as a number in memory: see `x86_64` and `aarch64`.
const SIGNATURE: u32 =
    if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00_u32.to_le() };

/// This thread's area.
fn place() -> *mut u32 {
    AREA.with(|room| room.0.get().cast())
}

fn errno() -> *mut c_int {
    // SAFETY:
    // - takes nothing.
    unsafe { libc::__errno_location() }
}

/// Bytes to register: what the kernel advertises, if it fits.
fn length() -> u32 {
    fitting(abi::feature_size(), abi::alignment())
}

/// Kernels before 6.3 advertise nothing and take the first version alone; all take that.
fn fitting(size: u32, align: u32) -> u32 {
    if size <= ROOM && align <= ROOM { size.max(FIRST) } else { FIRST }
}

/// Whether this code is part of the program, and not of a library: then its thread-locals are at
/// one distance from the thread pointer in every thread, and stay.
fn is_in_program() -> bool {
    let mut search =
        Search { program: abi::program_headers(), own: (&raw const STATE).addr(), found: false };
    // SAFETY:
    // - `look` gets what it is made for, and keeps nothing; the search outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

struct Search {
    /// Where the program's table of segments lies.
    program: usize,
    /// An address in this crate's data.
    own: usize,
    found: bool,
}

/// # Safety
///
/// Called by `dl_iterate_phdr`; `search` is a [`Search`].
unsafe extern "C" fn look(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY:
    // - the caller's obligation.
    let search = unsafe { &mut *search.cast::<Search>() };
    // SAFETY:
    // - as above: an object's description, for the length of the call.
    let object = unsafe { &*object };
    // The order in the list proves nothing: a namespace of its own begins with a library.
    if object.dlpi_phdr.addr() != search.program {
        return 0;
    }
    // SAFETY:
    // - the loader describes its own table.
    let segments =
        unsafe { core::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
    search.found = segments.iter().any(|segment| {
        let begin = (object.dlpi_addr as usize).wrapping_add(segment.p_vaddr as usize);
        segment.p_type == libc::PT_LOAD && search.own.wrapping_sub(begin) < segment.p_memsz as usize
    });
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_has_the_size_that_the_kernel_asks_for() {
        assert_eq!(fitting(0, 0), 32, "before 6.3");
        assert_eq!(fitting(20, 32), 32, "6.3 with the first fields");
        assert_eq!(fitting(28, 32), 32);
        assert_eq!(fitting(33, 64), 33, "7.0");
        assert_eq!(fitting(128, 128), 128);
        assert_eq!(fitting(129, 256), 32, "no room: the first version");
        assert_eq!(fitting(40, 256), 32);
    }

    #[test]
    fn a_decision_is_read_as_it_was_written() {
        assert_eq!(State::of(UNASKED), State::Unasked);
        assert_eq!(State::of(0), State::Open(0));
        assert_eq!(State::of(31), State::Open(31));
        assert_eq!(State::of(31 | CLOSED), State::Closed);
        assert_eq!(State::of(REFUSED), State::Refused(Refusal::Library));
        for errno in [libc::EPERM, libc::ENOSYS, libc::EINVAL] {
            let word = REFUSED | errno as u32;
            assert_eq!(State::of(word), State::Refused(Refusal::System(errno)));
        }
    }

    #[test]
    fn a_test_is_a_program() {
        assert!(is_in_program());
    }

    /// The hot path adds one number to every thread's pointer.
    #[test]
    fn the_area_is_at_one_distance_in_every_thread() {
        let distance = || place().addr().wrapping_sub(thread_pointer().addr());
        let here = distance();
        for _ in 0..20 {
            let (there, align) =
                std::thread::spawn(move || (distance(), place().addr() % ROOM as usize))
                    .join()
                    .unwrap();
            assert_eq!((there, align), (here, 0));
        }
    }

    #[test]
    fn a_thread_that_was_not_registered_has_no_cpu_in_its_area() {
        std::thread::spawn(|| {
            let words = place();
            // SAFETY:
            // - the second word of this thread's area, which nobody registered.
            assert_eq!(unsafe { words.wrapping_add(1).read_volatile() }, u32::MAX);
        })
        .join()
        .unwrap();
    }
}
