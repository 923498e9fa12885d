//! What was missing or malformed in a machine's description, as values.

use crate::cpu::{CpuId, ParseCpuListError};
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Something in the description of the machine that was not as it should be, and
/// was made up for. Never a reason to stop.
///
/// ```
/// use corelocal::Topology;
///
/// // A container that shows nothing of the machine.
/// let machine = Topology::from_root("/no/such/directory");
/// let notes: Vec<String> = machine.issues().map(|issue| issue.to_string()).collect();
/// assert!(!notes.is_empty() && !machine.possible().is_empty()); // made up for
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyIssue {
    path: PathBuf,
    kind: TopologyIssueKind,
}

/// What was not as it should be, and what is done instead.
///
/// ```
/// use corelocal::Topology;
/// use corelocal::sys::topology::TopologyIssueKind;
///
/// let machine = Topology::from_root("/no/such/directory");
/// let missing = machine.issues().filter(|issue| issue.kind() == TopologyIssueKind::Missing);
/// assert!(missing.count() > 0); // as opposed to files that are there and broken
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TopologyIssueKind {
    /// The file or directory does not exist. The next source is asked.
    Missing,
    /// The file or directory cannot be read. The next source is asked.
    Unreadable(io::ErrorKind),
    /// The file is not a list or map of CPUs. The next source is asked.
    Malformed(ParseCpuListError),
    /// The file does not hold a number. The value is not known.
    NotANumber,
    /// The list is empty where something must be. The next source is asked.
    Empty,
    /// The list leaves out the CPU it describes. The CPU is added.
    Omits(CpuId),
    /// The CPU was already counted elsewhere. The first mention holds.
    CountedTwice(CpuId),
    /// More CPUs than there can be lanes. Threads on the CPUs beyond use the spill lane.
    TooManyCpus {
        /// Highest id + 1 that was found.
        found: u32,
        /// The number of lanes instead.
        used: u32,
    },
    /// More nodes than Linux can have. The nodes beyond are left out.
    TooManyNodes {
        /// How many are kept.
        used: usize,
    },
    /// The system does not say which CPUs this thread may run on: the online ones.
    AffinityRefused {
        /// The system's error number.
        errno: i32,
    },
    /// Further issues of the same part are not listed.
    More {
        /// How many there are.
        count: usize,
    },
}

impl TopologyIssue {
    pub(super) fn new(path: &Path, kind: TopologyIssueKind) -> Self {
        Self { path: path.to_owned(), kind }
    }

    /// The file or directory it is about; the root where it is about no one file.
    ///
    /// ```
    /// use corelocal::Topology;
    ///
    /// let machine = Topology::from_root("/no/such/directory");
    /// assert!(machine.issues().all(|issue| issue.path().starts_with("/no/such/directory")));
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was not as it should be.
    ///
    /// ```
    /// use corelocal::Topology;
    /// use corelocal::sys::topology::TopologyIssueKind;
    ///
    /// // Only what somebody can mend is worth a warning.
    /// let broken = Topology::current().issues().filter(|issue| {
    ///     matches!(issue.kind(), TopologyIssueKind::Malformed(_) | TopologyIssueKind::NotANumber)
    /// });
    /// broken.for_each(|issue| eprintln!("warning: {issue}"));
    /// # assert!(Topology::from_root("/no/such/directory").issues().all(|i| i.kind() != TopologyIssueKind::NotANumber));
    /// ```
    pub fn kind(&self) -> TopologyIssueKind {
        self.kind
    }
}

impl fmt::Display for TopologyIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match self.kind {
            TopologyIssueKind::Missing => f.write_str("missing; the next source is asked"),
            TopologyIssueKind::Unreadable(kind) => {
                write!(f, "cannot be read ({kind}); the next source is asked")
            }
            TopologyIssueKind::Malformed(error) => {
                write!(f, "{error}; the next source is asked")
            }
            TopologyIssueKind::NotANumber => f.write_str("not a number; taken as not known"),
            TopologyIssueKind::Empty => f.write_str("empty; the next source is asked"),
            TopologyIssueKind::Omits(cpu) => {
                write!(f, "leaves out CPU {cpu}, which it describes; added")
            }
            TopologyIssueKind::CountedTwice(cpu) => {
                write!(f, "CPU {cpu} was already counted elsewhere; the first mention holds")
            }
            TopologyIssueKind::TooManyCpus { found, used } => {
                write!(
                    f,
                    "{found} CPU ids, but at most {used} lanes; the spill lane serves the rest"
                )
            }
            TopologyIssueKind::TooManyNodes { used } => {
                write!(f, "more nodes than Linux can have; the first {used} are kept")
            }
            TopologyIssueKind::AffinityRefused { errno } => {
                write!(f, "the system does not say which CPUs are allowed (error {errno})")
            }
            TopologyIssueKind::More { count } => write!(f, "{count} more issues"),
        }
    }
}
