//! Samples of addresses, and the texts that have them.
//!
//! What is read was written by someone else: any bytes give samples or an error that names the line.

mod c2c;
mod mem;
mod recording;

use core::fmt;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Where an access was.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// At an address.
    Address(u64),
    /// So many bytes behind a symbol.
    Symbol(String, u64),
}

impl Place {
    /// `0x7f00`, `runqueues` or `runqueues+0x40`. Digits are an address only with `0x` before them or
    /// if there are 16 of them, as perf prints addresses; `None` for nothing.
    ///
    /// ```
    /// use advice::Place;
    /// assert_eq!(Place::parse("0x7f00"), Some(Place::Address(0x7f00)));
    /// assert_eq!(Place::parse("queue+0x8"), Some(Place::Symbol("queue".to_owned(), 8)));
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(address) = hex(text) {
            return Some(Self::Address(address));
        }
        if let (16, Ok(address)) = (text.len(), u64::from_str_radix(text, 16)) {
            return Some(Self::Address(address));
        }
        if let Some((symbol, Some(offset))) = text.rsplit_once('+').map(|(s, o)| (s, hex(o))) {
            return (!symbol.is_empty()).then(|| Self::Symbol(symbol.to_owned(), offset));
        }
        (!text.is_empty()).then(|| Self::Symbol(text.to_owned(), 0))
    }

    /// How many bytes it lies behind `base`, where that can be known.
    pub(crate) fn since(&self, base: &Self) -> Option<u64> {
        match (self, base) {
            (Self::Address(own), Self::Address(base)) => own.checked_sub(*base),
            (Self::Symbol(own, at), Self::Symbol(base, from)) if own == base => {
                at.checked_sub(*from)
            }
            _ => None,
        }
    }
}

/// On which CPUs accesses were seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cpus {
    /// Nothing is known of it.
    Unknown,
    /// On so many.
    Count(u32),
    /// On this one.
    One(u32),
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes in one step.
    Rmw,
}

/// Accesses that are alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Where.
    pub place: Place,
    /// Bytes; 0 where only the first is known.
    pub size: u32,
    /// Whether they write.
    pub writes: bool,
    /// On which CPUs.
    pub cpus: Cpus,
    /// The operation, or the function that made them.
    pub tag: String,
    /// How many there were.
    pub runs: u64,
}

/// Which text it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `perf c2c report --stdio`.
    C2c,
    /// `perf mem report --stdio`.
    Mem,
    /// A line an access: address, size, `load`, `store` or `rmw`, CPU, operation.
    Recording,
}

/// Why a text was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    line: usize,
    what: String,
}

impl ReadError {
    /// The line that is wrong, from 1; 0 if it is the whole text.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.what)
    }
}

impl core::error::Error for ReadError {}

type Key = (Place, u32, bool, Cpus, String);

/// Accesses, those that are alike counted together.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Samples {
    counts: BTreeMap<Key, u64>,
}

/// More different samples than this are not kept.
const MOST: usize = 1 << 18;
/// A longer line is none of a report's.
const LONGEST: usize = 1 << 14;

impl Samples {
    /// No samples.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a text of any of the formats.
    ///
    /// A table of `perf` has what perf saw: loads that were slow, mostly, and only lines that more
    /// than one CPU wanted. The rows' functions become operations.
    ///
    /// # Errors
    ///
    /// If the text is none of them, or a line is wrong: which one, and what would be right.
    pub fn read(text: &[u8]) -> Result<Self, ReadError> {
        match Self::format(text) {
            Format::C2c => c2c::read(text),
            Format::Mem => mem::read(text),
            Format::Recording => recording::read(text),
        }
    }

    /// Which format a text is taken for.
    pub fn format(text: &[u8]) -> Format {
        let has = |what: &str| lines(text).any(|(_, line)| line.contains(what));
        if has(c2c::TITLE) {
            Format::C2c
        } else if has(mem::COLUMN) {
            Format::Mem
        } else {
            Format::Recording
        }
    }

    /// Adds an access of an operation on a CPU: what a recording of a model is made of.
    ///
    /// Beyond 2^18 different ones, `false` is returned and nothing kept.
    pub fn record(&mut self, address: u64, size: u32, kind: Kind, cpu: u32, tag: &str) -> bool {
        let (place, cpus) = (Place::Address(address), Cpus::One(cpu));
        let writes = kind != Kind::Load;
        self.add(Sample { place, size, writes, cpus, tag: tag.to_owned(), runs: 1 })
    }

    fn add(&mut self, sample: Sample) -> bool {
        let Sample { place, size, writes, cpus, tag, runs } = sample;
        let key = (place, size, writes, cpus, tag);
        if self.counts.len() >= MOST && !self.counts.contains_key(&key) {
            return false;
        }
        let count = self.counts.entry(key).or_default();
        *count = count.saturating_add(runs);
        true
    }

    /// Adds what line `line` of a text has.
    fn add_line(&mut self, line: usize, sample: Sample) -> Result<(), ReadError> {
        match self.add(sample) {
            true => Ok(()),
            false => Err(error(line, format!("more than {MOST} different samples"))),
        }
    }

    /// What there is, in ascending order of places.
    pub fn iter(&self) -> impl Iterator<Item = Sample> + '_ {
        self.counts.iter().map(|((place, size, writes, cpus, tag), &runs)| Sample {
            place: place.clone(),
            size: *size,
            writes: *writes,
            cpus: *cpus,
            tag: tag.clone(),
            runs,
        })
    }

    /// How many different ones there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

fn error(line: usize, what: impl Into<String>) -> ReadError {
    ReadError { line, what: what.into() }
}

/// The lines of a text with their numbers, from 1. Bytes that are no UTF-8 are replaced, and what is
/// too long for a line is cut; [`check_length`] says so.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    lines.map(|(at, line)| (at + 1, String::from_utf8_lossy(&line[..line.len().min(LONGEST + 1)])))
}

fn check_length(number: usize, line: &str) -> Result<(), ReadError> {
    match line.len() > LONGEST {
        true => Err(error(number, format!("longer than {LONGEST} bytes"))),
        false => Ok(()),
    }
}

/// `0x1f` as a number.
fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// A piece of a text in an error: not all of it, whatever it is.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push_str("..");
    }
    format!("{short:?}")
}

/// The columns of a row: two blanks and more, or a tab, stand between them.
fn columns(line: &str) -> impl Iterator<Item = &str> {
    line.split("  ")
        .flat_map(|part| part.split('\t'))
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// `[.] name`, `[k] name` without the letter that says whose it is.
fn symbol(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('[')?;
    let (_, rest) = rest.split_at_checked(rest.chars().next()?.len_utf8())?;
    let name = rest.strip_prefix(']')?.trim();
    (!name.is_empty()).then_some(name)
}
