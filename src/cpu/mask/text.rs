//! The kernel's two texts for a set of CPUs.

use super::super::list::{
    MAX_PARSED_ID, ParseCpuListError, ParseCpuListErrorKind, check_length, parse_runs, skip_blanks,
};
use super::{CpuId, CpuMask};
use core::fmt;
use core::str::FromStr;

/// Ids in one group of a hexadecimal map.
const GROUP: usize = 32;

impl CpuMask {
    /// Reads the kernel's list format, as in `/sys/devices/system/cpu/possible`.
    ///
    /// Singles and ranges with commas between them, in any order, blanks and a
    /// newline around them. An empty text is the empty set. [`FromStr`] does the
    /// same for a `str`. Linear in the text; at most 8 KiB are allocated.
    ///
    /// # Errors
    ///
    /// Where the text goes wrong and what should stand there. Ids above
    /// [`MAX_PARSED_ID`] are refused, and so are texts over 384 KiB, which is room
    /// for every id singly.
    ///
    /// ```
    /// use corelocal::cpu::CpuMask;
    /// assert_eq!(CpuMask::from_list(b"0-1,4-5\n")?.len(), 4);
    /// assert!(CpuMask::from_list("")?.is_empty());
    /// assert!(CpuMask::from_list("3-1").is_err());
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn from_list(text: impl AsRef<[u8]>) -> Result<Self, ParseCpuListError> {
        let mut mask = Self::new();
        parse_runs(text.as_ref(), |first, last| mask.insert_run(first, last))?;
        Ok(mask)
    }

    /// Reads the kernel's hexadecimal maps, as in `cpumap` and `shared_cpu_map`
    /// files: groups of 32 CPUs with commas between them, the highest first.
    ///
    /// Any number of groups, odd or even, of one to eight digits each; leading
    /// zeros mean nothing. An empty text is the empty set.
    ///
    /// # Errors
    ///
    /// As [`from_list`](Self::from_list).
    ///
    /// ```
    /// use corelocal::cpu::CpuMask;
    /// assert_eq!(CpuMask::from_hex_map("1,00000003\n")?.to_string(), "0-1,32");
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn from_hex_map(text: impl AsRef<[u8]>) -> Result<Self, ParseCpuListError> {
        let text = text.as_ref();
        check_length(text)?;
        let start = skip_blanks(text, 0);
        let end = start + text[start..].trim_ascii_end().len();
        let mut mask = Self::new();
        if start == end {
            return Ok(mask);
        }
        let groups = text[start..end].iter().filter(|byte| **byte == b',').count() + 1;
        let mut at = start;
        for number in (0..groups).rev() {
            let (group, digits) = hex_group(&text[at..end], at)?;
            mask.insert_group(number, group)
                .ok_or(ParseCpuListError::new(at, ParseCpuListErrorKind::IdTooLarge))?;
            // Over the comma, or one past the end behind the last group.
            at += digits + 1;
        }
        Ok(mask)
    }

    /// Adds the CPUs of group `number`; `None` if one is above the cap.
    fn insert_group(&mut self, number: usize, mut group: u32) -> Option<()> {
        while group != 0 {
            let id = number * GROUP + group.trailing_zeros() as usize;
            let id = u32::try_from(id).ok().filter(|id| *id <= MAX_PARSED_ID)?;
            self.insert(CpuId::new(id));
            group &= group - 1;
        }
        Some(())
    }
}

/// The value and the number of digits of the group at the head of `text`, which
/// begins at byte `at` of the whole.
fn hex_group(text: &[u8], at: usize) -> Result<(u32, usize), ParseCpuListError> {
    let bad =
        |position| ParseCpuListError::new(at + position, ParseCpuListErrorKind::ExpectedHexGroup);
    let digits = text.iter().position(|byte| *byte == b',').unwrap_or(text.len());
    if digits == 0 {
        return Err(bad(0));
    }
    let mut value = 0;
    for (position, byte) in text[..digits].iter().enumerate() {
        let digit = char::from(*byte).to_digit(16).ok_or(bad(position))?;
        if position == 8 {
            return Err(bad(position));
        }
        value = value << 4 | digit;
    }
    Ok((value, digits))
}

impl FromStr for CpuMask {
    type Err = ParseCpuListError;

    fn from_str(text: &str) -> Result<Self, ParseCpuListError> {
        Self::from_list(text)
    }
}

/// The kernel's list format: `0-3,8`; nothing for the empty set.
impl fmt::Display for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(CpuId::get).peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|next| next - last == 1) {
                last = next;
            }
            write!(f, "{comma}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuMask({self})")
    }
}
