//! [`Machine`]: sockets, cores, CPUs and how they are numbered.

use super::CoreSet;
use std::fmt;

/// How the CPUs (hardware threads) of a machine are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// As Linux commonly does on x86: the first thread of every core, then the second of every
    /// core. `cpu = core + cores * thread`.
    Linux,
    /// Neighbours get neighbouring numbers. `cpu = core * threads + thread`.
    Topology,
}

/// A machine: sockets of cores, cores of CPUs.
///
/// Cores are numbered socket by socket, so core numbers are in topology order whatever the
/// numbering of the CPUs is.
///
/// ```
/// use model::coherence::{Machine, Numbering};
///
/// let machine = Machine::new(2, 120, 2, Numbering::Linux)?;
/// assert_eq!((machine.cpus(), machine.cores()), (480, 240));
/// assert_eq!((machine.core_of(241), machine.socket_of(241)), (1, 0));
/// assert_eq!(machine.topology_order()[..4], [0, 240, 1, 241]);
/// assert_eq!(machine.position_of(241), 3);
/// # Ok::<(), model::coherence::MachineError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    sockets: usize,
    cores: usize,
    threads: usize,
    numbering: Numbering,
}

/// Numbers that make no machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineError {
    /// One of them is zero.
    Zero {
        /// Sockets.
        sockets: usize,
        /// Cores of a socket.
        cores: usize,
        /// CPUs of a core.
        threads: usize,
    },
    /// More than [`CoreSet::LIMIT`] cores, or more than [`Machine::MOST_THREADS`] CPUs of a core.
    TooMany {
        /// Sockets.
        sockets: usize,
        /// Cores of a socket.
        cores: usize,
        /// CPUs of a core.
        threads: usize,
    },
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Zero { sockets, cores, threads } | Self::TooMany { sockets, cores, threads }) =
            self;
        write!(f, "{sockets} sockets of {cores} cores of {threads} threads: ")?;
        match self {
            Self::Zero { .. } => f.write_str("all three must be at least 1"),
            Self::TooMany { .. } => write!(
                f,
                "at most {} cores in all, of {} threads",
                CoreSet::LIMIT,
                Machine::MOST_THREADS
            ),
        }
    }
}

impl std::error::Error for MachineError {}

impl Machine {
    /// The most CPUs of a core: far more than any has, and few enough for a table of all CPUs.
    pub const MOST_THREADS: usize = 64;

    /// A machine of `sockets` sockets with `cores` cores each, each with `threads` CPUs.
    ///
    /// # Errors
    ///
    /// [`MachineError`] if a number is zero, or there are more than [`CoreSet::LIMIT`] cores
    /// or [`Machine::MOST_THREADS`] CPUs of each.
    pub fn new(
        sockets: usize,
        cores: usize,
        threads: usize,
        numbering: Numbering,
    ) -> Result<Self, MachineError> {
        if sockets == 0 || cores == 0 || threads == 0 {
            return Err(MachineError::Zero { sockets, cores, threads });
        }
        let all = sockets.checked_mul(cores).filter(|&all| all <= CoreSet::LIMIT);
        match all.filter(|_| threads <= Self::MOST_THREADS) {
            Some(_) => Ok(Self { sockets, cores, threads, numbering }),
            None => Err(MachineError::TooMany { sockets, cores, threads }),
        }
    }

    /// Sockets.
    pub fn sockets(&self) -> usize {
        self.sockets
    }

    /// Cores of all sockets.
    pub fn cores(&self) -> usize {
        self.sockets * self.cores
    }

    /// CPUs of one core.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// CPUs of all cores.
    pub fn cpus(&self) -> usize {
        self.cores() * self.threads
    }

    /// How its CPUs are numbered.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// The core that a CPU is a thread of.
    ///
    /// # Panics
    ///
    /// If there is no such CPU.
    pub fn core_of(&self, cpu: usize) -> usize {
        self.position_of(cpu) / self.threads
    }

    /// The socket that a CPU lies in.
    ///
    /// # Panics
    ///
    /// If there is no such CPU.
    pub fn socket_of(&self, cpu: usize) -> usize {
        self.core_of(cpu) / self.cores
    }

    /// The number of a core's `thread`th CPU.
    ///
    /// # Panics
    ///
    /// If there is no such core or thread.
    pub fn cpu(&self, core: usize, thread: usize) -> usize {
        assert!(core < self.cores(), "core {core} of {}", self.cores());
        assert!(thread < self.threads, "thread {thread} of {}", self.threads);
        match self.numbering {
            Numbering::Linux => core + self.cores() * thread,
            Numbering::Topology => core * self.threads + thread,
        }
    }

    /// Where a CPU stands in topology order.
    ///
    /// # Panics
    ///
    /// If there is no such CPU.
    pub fn position_of(&self, cpu: usize) -> usize {
        assert!(cpu < self.cpus(), "CPU {cpu} of {}", self.cpus());
        match self.numbering {
            Numbering::Linux => cpu % self.cores() * self.threads + cpu / self.cores(),
            Numbering::Topology => cpu,
        }
    }

    /// All CPUs in topology order: the threads of a core side by side, then the next core, the
    /// cores of a socket before the next socket.
    pub fn topology_order(&self) -> Vec<usize> {
        let core = |core| (0..self.threads).map(move |thread| self.cpu(core, thread));
        (0..self.cores()).flat_map(core).collect()
    }

    /// The cores of one socket.
    pub(super) fn cores_of_socket(&self, socket: usize) -> CoreSet {
        (socket * self.cores..(socket + 1) * self.cores).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numberings_agree_with_themselves() {
        for (sockets, cores, threads) in [(1, 1, 1), (2, 3, 2), (3, 2, 4), (2, 120, 2)] {
            for numbering in [Numbering::Linux, Numbering::Topology] {
                let machine = Machine::new(sockets, cores, threads, numbering).unwrap();
                let order = machine.topology_order();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..machine.cpus()).collect::<Vec<_>>());
                for (position, &cpu) in order.iter().enumerate() {
                    assert_eq!(machine.position_of(cpu), position);
                    assert_eq!(machine.core_of(cpu), position / threads);
                    assert_eq!(machine.socket_of(cpu), position / threads / cores);
                    assert_eq!(machine.cpu(position / threads, position % threads), cpu);
                }
            }
        }
    }

    #[test]
    fn the_two_numberings_differ_where_they_should() {
        let linux = Machine::new(2, 2, 2, Numbering::Linux).unwrap();
        let topology = Machine::new(2, 2, 2, Numbering::Topology).unwrap();
        let cores = |machine: Machine| (0..8).map(|cpu| machine.core_of(cpu)).collect::<Vec<_>>();
        assert_eq!(cores(linux), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(cores(topology), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(linux.cores_of_socket(1), [2, 3].into_iter().collect());
    }

    #[test]
    fn numbers_that_make_no_machine_are_named() {
        let new = |sockets, cores, threads| {
            Machine::new(sockets, cores, threads, Numbering::Linux).map_err(|e| e.to_string())
        };
        assert!(new(1, 512, 2).is_ok());
        assert_eq!(
            new(2, 257, 2),
            Err("2 sockets of 257 cores of 2 threads: at most 512 cores in all, of 64 threads"
                .into())
        );
        assert!(new(2, 2, usize::MAX).unwrap_err().contains("at most"));
        assert!(new(usize::MAX, 2, 1).unwrap_err().contains("at most"));
        assert!(new(1, 0, 2).unwrap_err().contains("at least 1"));
    }
}
