//! How a kill says no.

use core::fmt;

/// The count was not killed by this call. Nothing was put.
///
/// ```
/// use corelocal::PerCpuRefCount;
/// use corelocal::refcount::KillError;
///
/// let users = PerCpuRefCount::new(|| ());
/// users.kill()?;
/// assert_eq!(users.kill(), Err(KillError::Killed)); // once, by who owns the first reference
/// # Ok::<(), KillError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KillError {
    /// It was killed before, or another thread is at it. A count is killed once: by whoever owns the
    /// reference that it began with.
    Killed,
    /// The system refuses the barrier that it granted when the count was made: a sandbox has been
    /// closed since then. References count exactly from here on, but what lies in the lanes cannot be
    /// added up, so the end does not come. Another kill may find the barrier granted.
    NoFence,
}

impl fmt::Display for KillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => {
                "the count is killed already: kill it once, with the reference that it began with"
            }
            Self::NoFence => {
                "the system refuses the barrier against sections (membarrier) since the count was \
                 made: allow it in the sandbox, and kill again"
            }
        })
    }
}

impl core::error::Error for KillError {}
