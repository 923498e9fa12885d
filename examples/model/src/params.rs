//! [`Params`]: a machine, read from a small text.

use crate::coherence::MachineError;
use crate::{Geometry, GeometryError};
use std::fmt;
use std::str::FromStr;

/// The sizes of a machine's caches.
///
/// The text has one setting a line, in any order, each at most once, the missing ones as in
/// [`Params::default`]; `#` begins a comment, `K`, `M` and `G` are powers of 1024:
///
/// ```
/// let params: model::Params = "
///     cores  4            # a small machine
///     line   64
///     l1     32K 8        # bytes, ways
///     l2     1M 16
///     shared 12M 16
/// ".parse()?;
/// assert_eq!((params.cores, params.shared.sets()), (4, 12288));
/// # Ok::<(), model::ParamError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Cores, each with an L1 and an L2 of its own.
    pub cores: usize,
    /// The first level.
    pub l1: Geometry,
    /// The second level.
    pub l2: Geometry,
    /// The last level. All three have lines of one size.
    pub shared: Geometry,
}

impl Default for Params {
    /// One core, lines of 64 bytes, L1 32 KiB in 8 ways, L2 1 MiB in 16, a last level of 32 MiB
    /// in 16.
    fn default() -> Self {
        Self::parse("").expect("the defaults are a machine")
    }
}

/// A text that is no machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParamError {
    /// A line that is no setting.
    Syntax {
        /// Counted from 1.
        line: usize,
        /// What was wrong, and what would be right.
        message: String,
    },
    /// A level whose numbers make no cache.
    Geometry {
        /// `l1`, `l2` or `shared`.
        level: &'static str,
        /// Why not.
        error: GeometryError,
    },
    /// Sockets, cores and threads that make no machine.
    Machine(MachineError),
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { line, message } => write!(f, "line {line}: {message}"),
            Self::Geometry { level, error } => write!(f, "{level}: {error}"),
            Self::Machine(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ParamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Syntax { .. } => None,
            Self::Geometry { error, .. } => Some(error),
            Self::Machine(error) => Some(error),
        }
    }
}

/// The settings of a text, before they are put together.
#[derive(Default)]
struct Settings {
    cores: Option<usize>,
    line: Option<usize>,
    l1: Option<(usize, usize)>,
    l2: Option<(usize, usize)>,
    shared: Option<(usize, usize)>,
}

impl Params {
    /// Reads a machine.
    ///
    /// # Errors
    ///
    /// [`ParamError`], with the line or the level that was wrong.
    pub fn parse(text: &str) -> Result<Self, ParamError> {
        let mut settings = Settings::default();
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            let set = settings.set(&words);
            set.map_err(|message| ParamError::Syntax { line: at + 1, message })?;
        }
        settings.finish()
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
            ["cores", cores] => once(&mut self.cores, at_least_one(cores)?),
            ["line", line] => once(&mut self.line, bytes(line)?),
            ["l1", size, ways] => once(&mut self.l1, (bytes(size)?, number(ways)?)),
            ["l2", size, ways] => once(&mut self.l2, (bytes(size)?, number(ways)?)),
            ["shared", size, ways] => once(&mut self.shared, (bytes(size)?, number(ways)?)),
            _ => Err(format!(
                "{:?} is none of `cores N`, `line BYTES`, `l1|l2|shared BYTES WAYS`",
                words.join(" ")
            )),
        }
    }

    fn finish(self) -> Result<Params, ParamError> {
        let line = self.line.unwrap_or(64);
        let level = |level, set: Option<(usize, usize)>, default| {
            let (size, ways) = set.unwrap_or(default);
            let made = Geometry::new(size, ways, line);
            made.map_err(|error| ParamError::Geometry { level, error })
        };
        Ok(Params {
            cores: self.cores.unwrap_or(1),
            l1: level("l1", self.l1, (32 << 10, 8))?,
            l2: level("l2", self.l2, (1 << 20, 16))?,
            shared: level("shared", self.shared, (32 << 20, 16))?,
        })
    }
}

pub(crate) fn once<T>(setting: &mut Option<T>, value: T) -> Result<(), String> {
    match setting.replace(value) {
        None => Ok(()),
        Some(_) => Err("set a second time".into()),
    }
}

pub(crate) fn at_least_one(word: &str) -> Result<usize, String> {
    number(word).and_then(|n| if n == 0 { Err("0: at least 1".into()) } else { Ok(n) })
}

pub(crate) fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("{word:?} is no number"))
}

fn bytes(word: &str) -> Result<usize, String> {
    let (digits, shift) = match word.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if word.ends_with('K') => (digits, 10),
        Some(digits) if word.ends_with('M') => (digits, 20),
        Some(digits) => (digits, 30),
        None => (word, 0),
    };
    let too_many = || format!("{word}: more bytes than an address can count");
    number(digits)?.checked_mul(1 << shift).ok_or_else(too_many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_the_documented_default() {
        let params = Params::default();
        assert_eq!((params.cores, params.l1.sets(), params.l1.line()), (1, 64, 64));
        assert_eq!((params.l2.sets(), params.shared.sets()), (1024, 32768));
    }

    #[test]
    fn every_setting_is_used() {
        let text = "shared 6G 12 # big\n\nl2 256K 4\r\n  l1\t2K  2\nline 128\ncores 3";
        let params = Params::parse(text).unwrap();
        assert_eq!(params.cores, 3);
        assert_eq!(params.l1, Geometry::new(2 << 10, 2, 128).unwrap());
        assert_eq!(params.l2, Geometry::new(256 << 10, 4, 128).unwrap());
        assert_eq!(params.shared, Geometry::new(6 << 30, 12, 128).unwrap());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, words) in [
            ("\nl1 32K", "line 2: \"l1 32K\" is none of"),
            ("l1 32k 8", "line 1: \"32k\" is no number"),
            ("l1 -1 8", "\"-1\" is no number"),
            ("cores 0", "at least 1"),
            ("cores 1\ncores 2", "line 2: set a second time"),
            ("l2 99999999999999999999 8", "is no number"),
            ("l2 18446744073709551615G 8", "more bytes than"),
            ("l2 1000 3", "l2: 1000 bytes are no whole number of sets"),
            ("line 0", "l1: a cache of"),
            ("line 48", "a power of two"),
            ("l3 1M 8", "is none of"),
        ] {
            let error = Params::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }
}
