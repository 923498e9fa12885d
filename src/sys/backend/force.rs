//! For tests: another backend than the best one, asked for before there is any.

use super::super::{current, machine};
use super::{ATOMICS, Backend, CHOICE, FORCED, OPEN, SECTIONS, backend, best_choice};
use crate::sync::Ordering;
use core::fmt;
use std::ffi::OsStr;

/// The environment variable that is read when the backend is chosen.
pub(crate) const VARIABLE: &str = "CORELOCAL_TEST_BACKEND";

/// Why a process did not get the backend that was asked for.
///
/// ```
/// use corelocal::testing::{ForceError, force_backend};
/// use corelocal::{Backend, backend};
///
/// let now = backend(); // it is fixed now
/// let late = force_backend(Backend::Thread);
/// assert_eq!(late, Err(ForceError::Fixed { backend: now })); // ask in `main`, before any object
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ForceError {
    /// The backend is fixed already: there was an object, or somebody asked for it.
    Fixed {
        /// The one that this process has.
        backend: Backend,
    },
    /// This process cannot have the backend: libc registers no area, the sections of this
    /// processor are not verified, or the system does not tell the CPU.
    Unavailable {
        /// The one that was asked for.
        asked: Backend,
    },
    /// The environment variable holds none of `rseq`, `getcpu` and `thread`.
    Unknown,
}

impl fmt::Display for ForceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed { backend } => write!(
                f,
                "the backend of this process is fixed, it is {backend}; \
                 force one before the first object, and before asking which it is"
            ),
            Self::Unavailable { asked } => {
                write!(f, "this process cannot have the backend {asked}")
            }
            Self::Unknown => {
                write!(f, "{VARIABLE} holds none of the backends rseq, getcpu and thread")
            }
        }
    }
}

impl core::error::Error for ForceError {}

/// Fixes the backend.
///
/// # Errors
///
/// [`ForceError::Fixed`] and [`ForceError::Unavailable`]; nothing is changed then.
pub(crate) fn force(asked: Backend) -> Result<(), ForceError> {
    let fixed = || Err(ForceError::Fixed { backend: backend() });
    // Relaxed: the word is the whole message.
    if CHOICE.load(Ordering::Relaxed) != OPEN {
        return fixed();
    }
    let choice = choice_for(asked).ok_or(ForceError::Unavailable { asked })?;
    // Relaxed, both: as above.
    if CHOICE.compare_exchange(OPEN, choice, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return fixed();
    }
    current::force(asked);
    super::publish(choice);
    Ok(())
}

/// The choice that the environment asks for, if this process can have it.
///
/// Takes nothing from the heap unless the variable is there: the heap may be built on this crate.
pub(super) fn choice_of_environment() -> Option<u32> {
    let asked = parse(&std::env::var_os(VARIABLE)?).ok()?;
    let choice = choice_for(asked)?;
    current::force(asked);
    Some(choice)
}

/// What the environment asked for; `Ok(None)` if it does not ask.
///
/// # Errors
///
/// Why this process has another backend.
pub(crate) fn of_environment() -> Result<Option<Backend>, ForceError> {
    let Some(word) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let asked = parse(&word)?;
    let backend = backend();
    // Relaxed: fixed by the question.
    let is_forced = CHOICE.load(Ordering::Relaxed) & FORCED != 0;
    match (backend == asked, is_forced) {
        (true, _) => Ok(Some(asked)),
        (false, true) => Err(ForceError::Fixed { backend }),
        (false, false) => Err(ForceError::Unavailable { asked }),
    }
}

fn parse(word: &OsStr) -> Result<Backend, ForceError> {
    [Backend::Rseq, Backend::Getcpu, Backend::Thread]
        .into_iter()
        .find(|backend| word == backend.name())
        .ok_or(ForceError::Unknown)
}

fn choice_for(asked: Backend) -> Option<u32> {
    let can = match asked {
        Backend::Rseq => best_choice() == SECTIONS,
        Backend::Getcpu => super::os::getcpu().is_some(),
        Backend::Thread => true,
    };
    // The number of lanes is found by the source that the machine has.
    let _ = machine::cpus();
    let choice = if asked == Backend::Rseq { SECTIONS } else { ATOMICS };
    can.then_some(choice | FORCED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_backends_name_and_nothing_else() {
        for backend in [Backend::Rseq, Backend::Getcpu, Backend::Thread] {
            assert_eq!(parse(OsStr::new(&backend.to_string())), Ok(backend));
        }
        for word in ["", "Rseq", "getcpu ", "1"] {
            assert_eq!(parse(OsStr::new(word)), Err(ForceError::Unknown), "{word:?}");
        }
    }
}
