//! How this process reaches its copies, and why.

use super::rseq::{self, Hot, Refusal, register};
use super::{current, machine, os, thread_area};
use crate::sync::Ordering;
use crate::sync::plain::AtomicU32;
use core::fmt;

/// Whether this process runs sections: fixed at the first object, or at the first question.
///
/// One word, so that a forked child and two threads that come first find one answer.
static CHOICE: AtomicU32 = AtomicU32::new(OPEN);
const OPEN: u32 = 0;
const SECTIONS: u32 = 1;
const ATOMICS: u32 = 2;
/// Atomics, since the sections of this processor were not verified in time.
const UNVERIFIED: u32 = 3;
/// Beside one of them: a test asked for it.
const FORCED: u32 = 4;

#[cfg(feature = "testing")]
pub(crate) mod force;

/// Fixes the backend, if it is not fixed yet. Comes before every first object.
pub(crate) fn choose_backend() {
    // Relaxed: whoever finds a choice publishes it too, so nothing else is read through it.
    let choice = match CHOICE.load(Ordering::Relaxed) {
        OPEN => {
            #[cfg(feature = "testing")]
            let best = force::choice_of_environment().unwrap_or_else(best_choice);
            #[cfg(not(feature = "testing"))]
            let best = best_choice();
            // Relaxed: as above.
            match CHOICE.compare_exchange(OPEN, best, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => best,
                Err(first) => first,
            }
        }
        choice => choice,
    };
    publish(choice);
}

/// If the choice is sections: from here on they run.
fn publish(choice: u32) {
    if choice & !FORCED == SECTIONS {
        // The same words for everybody, so a second time does no harm.
        if let Some(hot) = Hot::find(machine::cpus()) {
            hot.publish();
        }
    }
}

fn best_choice() -> u32 {
    if current::source() != current::Source::Area || Hot::find(machine::cpus()).is_none() {
        return ATOMICS;
    }
    if rseq::is_trusted() { SECTIONS } else { UNVERIFIED }
}

/// How this process reaches its copies. Chosen once, from what the system offers.
///
/// ```
/// use corelocal::{Backend, backend};
///
/// // A note for who reads the log, where updates cost more than they could.
/// match backend() {
///     Backend::Rseq => {}
///     other => eprintln!("per-CPU updates are atomic here ({other}): {}", other.reason()),
/// }
/// assert_eq!(backend(), backend()); // one for the whole process
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Backend {
    /// Restartable sections: updates without locked instructions.
    Rseq,
    /// A CPU id from the system, and atomic updates.
    Getcpu,
    /// No CPU id is to be had: a lane by thread, and atomic updates.
    Thread,
}

/// The backend of this process.
///
/// Fixed at the first object, or by this question.
///
/// `Getcpu` becomes `Thread` if a sandbox that was set up later takes the CPU id
/// away; nothing else ever changes. Both update atomically, so no update is lost.
///
/// ```
/// let backend = corelocal::sys::backend();
/// println!("{backend}: {}", backend.reason());
/// ```
pub fn backend() -> Backend {
    choose_backend();
    match current::source() {
        // Relaxed: `choose_backend` was called on this thread.
        _ if CHOICE.load(Ordering::Relaxed) & !FORCED == SECTIONS => Backend::Rseq,
        current::Source::Area | current::Source::Getcpu => Backend::Getcpu,
        current::Source::None => Backend::Thread,
    }
}

/// Why a process has the backend it has.
///
/// ```
/// use corelocal::sys::{Backend, Reason, backend};
///
/// let advice = match backend().reason() {
///     Reason::Sections { .. } | Reason::OwnRegistration { .. } => "none",
///     Reason::NotVerified => "call sys::rseq::verify() before the first object",
///     Reason::NoThreadArea => "glibc 2.35 or newer, or the feature `register`",
///     _ => "see the text",
/// };
/// assert!(backend() != Backend::Rseq || advice == "none");
/// println!("{}: {advice}", backend().reason());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// libc registers a thread area of `size` bytes, and this target has sections.
    Sections {
        /// Bytes of the area that the kernel keeps current.
        size: u32,
    },
    /// libc registers no thread area, and this crate registers its own of `size` bytes for
    /// each thread that uses it (feature `register`).
    OwnRegistration {
        /// Bytes of the area that the kernel keeps current.
        size: u32,
    },
    /// libc registers no thread area, and the system refused to register the crate's own
    /// (feature `register`) for the thread that asked first.
    RegistrationRefused {
        /// The system's error number: `ENOSYS` and `EPERM` from a kernel or a sandbox without
        /// `rseq`, `EINVAL` if another library registered the thread, `EAGAIN` if the
        /// process's first `pthread` keys are taken.
        errno: i32,
    },
    /// libc registers no thread area, and this copy of the crate (with the feature `register`)
    /// is part of a shared library, which registers none: it may be unloaded.
    InLibrary,
    /// There could be sections, but on this processor they are used only after a
    /// successful `sys::rseq::verify()` before the first object: some kernels do not
    /// cut them off.
    NotVerified,
    /// libc registers a thread area of `size` bytes, so the CPU id costs one load;
    /// this version of the crate has no sections on this target.
    NoSections {
        /// Bytes of the area that the kernel keeps current.
        size: u32,
    },
    /// libc registers no thread area (an older libc, one without them, a tunable, a
    /// sandbox or an emulator); the system tells the CPU id through the vDSO.
    NoThreadArea,
    /// The system does not tell a thread its CPU.
    NoCpuId,
    /// A test asked for it, through [`testing`](crate::testing).
    #[cfg(feature = "testing")]
    Forced,
    /// It was asked of a backend that this process does not have.
    NotInForce {
        /// The one it has.
        instead: Backend,
    },
}

impl Backend {
    /// Why this process has this backend; [`Reason::NotInForce`] if it has another.
    ///
    /// ```
    /// use corelocal::{Backend, backend, sys::Reason};
    ///
    /// println!("{}: {}", backend(), backend().reason());
    /// // Asked of another one, it says which one is in force.
    /// let other = if backend() == Backend::Thread { Backend::Getcpu } else { Backend::Thread };
    /// assert_eq!(other.reason(), Reason::NotInForce { instead: backend() });
    /// ```
    pub fn reason(self) -> Reason {
        let instead = backend();
        if self != instead {
            return Reason::NotInForce { instead };
        }
        let size = thread_area().map_or(0, |area| area.size);
        // Relaxed: `backend` was asked above.
        match CHOICE.load(Ordering::Relaxed) {
            SECTIONS if os::thread_area().is_none() => return Reason::OwnRegistration { size },
            SECTIONS => return Reason::Sections { size },
            UNVERIFIED => return Reason::NotVerified,
            #[cfg(feature = "testing")]
            choice if choice & FORCED != 0 => return Reason::Forced,
            _ => {}
        }
        match current::source() {
            current::Source::Area => Reason::NoSections { size },
            current::Source::Getcpu => match register::refusal() {
                Some(Refusal::Library) => Reason::InLibrary,
                Some(Refusal::System(errno)) => Reason::RegistrationRefused { errno },
                None => Reason::NoThreadArea,
            },
            current::Source::None => Reason::NoCpuId,
        }
    }
}

impl Backend {
    fn name(self) -> &'static str {
        match self {
            Self::Rseq => "rseq",
            Self::Getcpu => "getcpu",
            Self::Thread => "thread",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sections { size } => {
                write!(f, "libc registers a thread area of {size} bytes for each thread")
            }
            Self::OwnRegistration { size } => write!(
                f,
                "own registration: libc registers no thread area, and this crate registers one \
                 of {size} bytes for each thread that uses it"
            ),
            Self::RegistrationRefused { errno } => write!(
                f,
                "libc registers no thread area, and the system refused this crate's own (error \
                 {errno}); the vDSO tells the CPU id"
            ),
            Self::InLibrary => f.write_str(
                "libc registers no thread area, and a shared library registers none of its own; \
                 the vDSO tells the CPU id",
            ),
            Self::NotVerified => f.write_str(
                "on this processor restartable sequences are used only after `verify` has seen \
                 the kernel cut them off, before the first object",
            ),
            Self::NoSections { size } => write!(
                f,
                "libc registers a thread area of {size} bytes, which tells the CPU id; \
                 this version of the crate has no sections here, so updates are atomic"
            ),
            Self::NoThreadArea => f.write_str(
                "libc registers no thread area (glibc 2.35 or newer does, unless a tunable, \
                 a sandbox or an emulator stops it); the vDSO tells the CPU id",
            ),
            Self::NoCpuId => f.write_str("the system does not tell a thread its CPU"),
            #[cfg(feature = "testing")]
            Self::Forced => f.write_str("a test asked for it"),
            Self::NotInForce { instead } => {
                write!(f, "not the backend of this process, which is {instead}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_belongs_to_the_backend_in_force() {
        let now = backend();
        for asked in [Backend::Rseq, Backend::Getcpu, Backend::Thread] {
            let unfit = matches!(asked.reason(), Reason::NotInForce { instead } if instead == now);
            assert_eq!(unfit, asked != now, "{asked}: {}", asked.reason());
        }
    }

    #[test]
    fn a_thread_with_an_id_has_a_backend_that_uses_it() {
        // Asked first: a forced one changes where the id comes from.
        let backend = backend();
        assert_eq!(current::machine_hint().is_some(), backend != Backend::Thread);
    }
}
