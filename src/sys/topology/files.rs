//! Small files below a root, read with patience: what is missing or malformed is
//! noted and never stops anything.

use super::issue::{TopologyIssue, TopologyIssueKind};
use crate::cpu::{CpuMask, MAX_PARSED_ID, ParseCpuListError};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// More than any text that is looked at (see `CpuMask::from_list`); a longer file
/// is then refused by the parser, not read into memory.
const MAX_FILE: u64 = 1 << 19;
/// Issues that are listed for one part of the description.
const MAX_ISSUES: usize = 64;

/// Whether the machine's own files are not looked at: Miri's machine is made up (`interpreted`), and
/// it refuses a program that opens any unless it is told not to.
const IS_MADE_UP: bool = cfg!(miri);

/// The bytes of a short file, without asking the heap (`path` is short enough for `File::open` not
/// to); `None` for one that fills `buffer`, or cannot be read.
pub(super) fn whole<'b>(path: &Path, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let mut file = if IS_MADE_UP { None } else { File::open(path).ok() }?;
    let mut have = 0;
    loop {
        match file.read(&mut buffer[have..]) {
            Ok(0) => break,
            Ok(more) => have += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    (have < buffer.len()).then_some(&buffer[..have])
}

/// Where the files lie, and what was not right with them.
pub(super) struct Files<'a> {
    root: &'a Path,
    issues: Vec<TopologyIssue>,
    unlisted: usize,
}

impl<'a> Files<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root, issues: Vec::new(), unlisted: 0 }
    }

    /// The issues met so far.
    pub(super) fn into_issues(mut self) -> Vec<TopologyIssue> {
        if self.unlisted > 0 {
            let kind = TopologyIssueKind::More { count: self.unlisted };
            self.issues.push(TopologyIssue::new(self.root, kind));
        }
        self.issues
    }

    pub(super) fn note(&mut self, relative: &str, kind: TopologyIssueKind) {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push(TopologyIssue::new(&self.path(relative), kind));
        } else {
            self.unlisted += 1;
        }
    }

    /// Whether there is anything below the root.
    fn exists(&self) -> io::Result<()> {
        let made_up = IS_MADE_UP && self.root == Path::new("/");
        if made_up { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    fn note_error(&mut self, relative: &str, error: &io::Error) {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => TopologyIssueKind::Missing,
            other => TopologyIssueKind::Unreadable(other),
        };
        self.note(relative, kind);
    }

    fn try_bytes(&self, relative: &str) -> io::Result<Vec<u8>> {
        self.exists()?;
        let mut bytes = Vec::new();
        File::open(self.path(relative))?.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of a file.
    pub(super) fn bytes(&mut self, relative: &str) -> Option<Vec<u8>> {
        match self.try_bytes(relative) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.note_error(relative, &error);
                None
            }
        }
    }

    /// A set of CPUs in the list format; may be empty.
    pub(super) fn list(&mut self, relative: &str) -> Option<CpuMask> {
        self.mask(relative, |text| CpuMask::from_list(text))
    }

    /// A set of CPUs in the hexadecimal format; may be empty.
    pub(super) fn hex_map(&mut self, relative: &str) -> Option<CpuMask> {
        self.mask(relative, |text| CpuMask::from_hex_map(text))
    }

    fn mask(
        &mut self,
        relative: &str,
        parse: impl FnOnce(&[u8]) -> Result<CpuMask, ParseCpuListError>,
    ) -> Option<CpuMask> {
        let text = self.bytes(relative)?;
        match parse(&text) {
            Ok(mask) => Some(mask),
            Err(error) => {
                self.note(relative, TopologyIssueKind::Malformed(error));
                None
            }
        }
    }

    /// A set in the list format in which something must be.
    pub(super) fn filled_list(&mut self, relative: &str) -> Option<CpuMask> {
        let mask = self.list(relative)?;
        if mask.is_empty() {
            self.note(relative, TopologyIssueKind::Empty);
            return None;
        }
        Some(mask)
    }

    /// One decimal number.
    pub(super) fn number(&mut self, relative: &str) -> Option<i64> {
        let text = self.bytes(relative)?;
        let number = core::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
        if number.is_none() {
            self.note(relative, TopologyIssueKind::NotANumber);
        }
        number
    }

    /// As [`number`](Self::number), for a file that need not exist.
    pub(super) fn optional_number(&mut self, relative: &str) -> Option<i64> {
        if self.exists().is_err() || !self.path(relative).exists() {
            return None;
        }
        self.number(relative)
    }

    /// The numbers N of the entries `<prefix>N` of a directory, ascending.
    pub(super) fn numbered_entries(&mut self, relative: &str, prefix: &str) -> Vec<u32> {
        let entries = match self.exists().and_then(|()| fs::read_dir(self.path(relative))) {
            Ok(entries) => entries,
            Err(error) => {
                self.note_error(relative, &error);
                return Vec::new();
            }
        };
        let number = |entry: io::Result<fs::DirEntry>| {
            let name = entry.ok()?.file_name();
            let digits = name.to_str()?.strip_prefix(prefix)?;
            // `parse` would take a sign.
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|number| plain && *number <= MAX_PARSED_ID)
        };
        let mut numbers: Vec<u32> = entries.filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}
