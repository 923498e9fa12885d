//! [`Params`]: a machine and its latencies, read from a small text.

use super::{Machine, Numbering};
use crate::ParamError;
use crate::params::{at_least_one, once};
use std::str::FromStr;

/// What an access takes, in nanoseconds, at least 1 each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latencies {
    /// An access to a line that the core holds.
    pub hit: u64,
    /// A miss that a core of the same socket answers.
    pub within: u64,
    /// A miss that waits for another socket.
    pub across: u64,
    /// A first touch.
    pub memory: u64,
}

/// A machine with its latencies.
///
/// The text has one setting a line, in any order, each at most once, the missing ones as in
/// [`Params::default`]; `#` begins a comment:
///
/// ```
/// use model::coherence::{Numbering, Params};
///
/// let params: Params = "
///     sockets   2
///     cores     120       # of a socket
///     threads   2         # CPUs of a core
///     numbering linux     # or: topology
///     hit       1         # ns
///     within    70
///     across    180
///     memory    100
///     siblings  share     # or: wait
/// ".parse()?;
/// assert_eq!((params.machine.cpus(), params.latencies.across), (480, 180));
/// assert_eq!(params.machine.numbering(), Numbering::Linux);
/// # Ok::<(), model::ParamError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Sockets, cores, CPUs.
    pub machine: Machine,
    /// What accesses take.
    pub latencies: Latencies,
    /// Whether CPUs of one core that wait for the same line at the same time are answered by one
    /// transfer, as by the miss buffers that they share. Otherwise each waits for its own.
    pub siblings_share: bool,
}

impl Default for Params {
    /// One socket of four cores of two CPUs, numbered as Linux does; a hit takes 1 ns, a miss 70
    /// within the socket and 180 across, a first touch 100. Siblings share.
    fn default() -> Self {
        Self::parse("").expect("the defaults are a machine")
    }
}

#[derive(Default)]
struct Settings {
    sockets: Option<usize>,
    cores: Option<usize>,
    threads: Option<usize>,
    numbering: Option<Numbering>,
    hit: Option<u64>,
    within: Option<u64>,
    across: Option<u64>,
    memory: Option<u64>,
    siblings_share: Option<bool>,
}

impl Params {
    /// Reads a machine.
    ///
    /// # Errors
    ///
    /// [`ParamError`], with the line that was wrong, or why the numbers make no machine.
    pub fn parse(text: &str) -> Result<Self, ParamError> {
        let mut settings = Settings::default();
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            let set = settings.set(&words);
            set.map_err(|message| ParamError::Syntax { line: at + 1, message })?;
        }
        settings.finish().map_err(ParamError::Machine)
    }
}

impl FromStr for Params {
    type Err = ParamError;

    fn from_str(text: &str) -> Result<Self, ParamError> {
        Self::parse(text)
    }
}

impl Settings {
    fn set(&mut self, words: &[&str]) -> Result<(), String> {
        match *words {
            [] => Ok(()),
            ["sockets", n] => once(&mut self.sockets, at_least_one(n)?),
            ["cores", n] => once(&mut self.cores, at_least_one(n)?),
            ["threads", n] => once(&mut self.threads, at_least_one(n)?),
            ["numbering", "linux"] => once(&mut self.numbering, Numbering::Linux),
            ["numbering", "topology"] => once(&mut self.numbering, Numbering::Topology),
            ["siblings", "share"] => once(&mut self.siblings_share, true),
            ["siblings", "wait"] => once(&mut self.siblings_share, false),
            ["hit", ns] => once(&mut self.hit, nanoseconds(ns)?),
            ["within", ns] => once(&mut self.within, nanoseconds(ns)?),
            ["across", ns] => once(&mut self.across, nanoseconds(ns)?),
            ["memory", ns] => once(&mut self.memory, nanoseconds(ns)?),
            _ => Err(format!(
                "{:?} is none of `sockets|cores|threads N`, `numbering linux|topology`, \
                 `siblings share|wait`, `hit|within|across|memory NS`",
                words.join(" ")
            )),
        }
    }

    fn finish(self) -> Result<Params, super::MachineError> {
        let machine = Machine::new(
            self.sockets.unwrap_or(1),
            self.cores.unwrap_or(4),
            self.threads.unwrap_or(2),
            self.numbering.unwrap_or(Numbering::Linux),
        )?;
        let latencies = Latencies {
            hit: self.hit.unwrap_or(1),
            within: self.within.unwrap_or(70),
            across: self.across.unwrap_or(180),
            memory: self.memory.unwrap_or(100),
        };
        let siblings_share = self.siblings_share.unwrap_or(true);
        Ok(Params { machine, latencies, siblings_share })
    }
}

/// Longer than any memory takes, and far from what would overflow the clock.
const MOST: usize = 1_000_000;

fn nanoseconds(word: &str) -> Result<u64, String> {
    match at_least_one(word)? {
        ns if ns > MOST => Err(format!("{ns} ns: at most {MOST}")),
        ns => Ok(ns as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_the_documented_default() {
        let Params { machine, latencies, siblings_share } = Params::default();
        assert_eq!(machine, Machine::new(1, 4, 2, Numbering::Linux).unwrap());
        assert_eq!(latencies, Latencies { hit: 1, within: 70, across: 180, memory: 100 });
        assert!(siblings_share);
    }

    #[test]
    fn every_setting_is_used() {
        let text = "memory 9 # far\n\nsockets 2\r\n cores\t3\nthreads 4\nnumbering topology\n\
                    hit 6\nwithin 7\nacross 8\nsiblings wait";
        let Params { machine, latencies, siblings_share } = Params::parse(text).unwrap();
        assert_eq!(machine, Machine::new(2, 3, 4, Numbering::Topology).unwrap());
        assert_eq!(latencies, Latencies { hit: 6, within: 7, across: 8, memory: 9 });
        assert!(!siblings_share);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, words) in [
            ("\ncores", "line 2: \"cores\" is none of"),
            ("numbering bsd", "\"numbering bsd\" is none of"),
            ("threads 0", "at least 1"),
            ("hit 0", "at least 1"),
            ("siblings no", "none of"),
            ("hit -1", "\"-1\" is no number"),
            ("hit 1\nhit 1", "line 2: set a second time"),
            ("across 1000001", "line 1: 1000001 ns: at most 1000000"),
            (
                "threads 65",
                "1 sockets of 4 cores of 65 threads: at most 512 cores in all, of 64 threads",
            ),
            ("sockets 3\ncores 200", "3 sockets of 200 cores of 2 threads: at most 512"),
        ] {
            let error = Params::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }
}
