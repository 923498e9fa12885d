//! The two texts in which the kernel writes sets of CPUs: lists (`0-3,8`) and
//! hexadecimal maps (`ff,00000001`). Parsed as bytes, since a file is not text
//! before somebody looked.

use core::fmt;

/// The highest CPU id that a parsed text may name.
///
/// Linux is never built for more than 8192 CPUs, so a larger id is a damaged or
/// hostile text. The cap bounds what a few bytes can make the parser allocate:
/// a mask with every id takes 8 KiB.
///
/// ```
/// use corelocal::cpu::{CpuMask, MAX_PARSED_ID, ParseCpuListErrorKind};
///
/// let highest: CpuMask = MAX_PARSED_ID.to_string().parse()?;
/// assert_eq!(highest.id_bound(), 65_536);
/// let hostile = "4000000000".parse::<CpuMask>().unwrap_err();
/// assert_eq!(hostile.kind(), ParseCpuListErrorKind::IdTooLarge);
/// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
/// ```
pub const MAX_PARSED_ID: u32 = 65_535;

/// The longest text that is looked at: every id up to the cap, singly, with commas.
pub(super) const MAX_TEXT: usize = (MAX_PARSED_ID as usize + 1) * 6;

/// A text is not a set of CPUs as the kernel writes it.
///
/// ```
/// use corelocal::cpu::{CpuMask, ParseCpuListErrorKind};
/// let error = "0-3,x".parse::<CpuMask>().unwrap_err();
/// assert_eq!(error.position(), 4);
/// assert_eq!(error.kind(), ParseCpuListErrorKind::ExpectedNumber);
/// assert!(error.to_string().contains("byte 4"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseCpuListError {
    position: usize,
    kind: ParseCpuListErrorKind,
}

/// What was wrong with the text.
///
/// ```
/// use corelocal::cpu::{CpuMask, ParseCpuListErrorKind};
///
/// fn advice(text: &str) -> &'static str {
///     match text.parse::<CpuMask>().map_err(|error| error.kind()) {
///         Ok(_) => "fine",
///         Err(ParseCpuListErrorKind::ReversedRange { .. }) => "turn the range round",
///         Err(_) => "write it as in 0-3,8",
///     }
/// }
/// assert_eq!((advice("0-3"), advice("3-0"), advice("all")),
///     ("fine", "turn the range round", "write it as in 0-3,8"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ParseCpuListErrorKind {
    /// A decimal CPU number should stand here.
    ExpectedNumber,
    /// A comma or the end of the text should stand here.
    ExpectedComma,
    /// One to eight hexadecimal digits should stand here.
    ExpectedHexGroup,
    /// The range ends below its beginning.
    ReversedRange {
        /// The range's beginning.
        first: u32,
        /// The range's end.
        last: u32,
    },
    /// An id above [`MAX_PARSED_ID`].
    IdTooLarge,
    /// The text is longer than any that could be needed.
    TextTooLong {
        /// Bytes that would have been read.
        limit: usize,
    },
}

impl ParseCpuListError {
    pub(super) const fn new(position: usize, kind: ParseCpuListErrorKind) -> Self {
        Self { position, kind }
    }

    /// The byte, counted from 0, at which the text goes wrong.
    ///
    /// ```
    /// let text = "0-3,7;9";
    /// let error = text.parse::<corelocal::CpuMask>().unwrap_err();
    /// let (good, bad) = text.split_at(error.position());
    /// assert_eq!((good, bad), ("0-3,7", ";9"));
    /// ```
    pub const fn position(&self) -> usize {
        self.position
    }

    /// What is wrong there.
    ///
    /// ```
    /// use corelocal::cpu::{CpuMask, ParseCpuListErrorKind};
    ///
    /// let error = "0-3,9-7".parse::<CpuMask>().unwrap_err();
    /// assert_eq!(error.kind(), ParseCpuListErrorKind::ReversedRange { first: 9, last: 7 });
    /// ```
    pub const fn kind(&self) -> ParseCpuListErrorKind {
        self.kind
    }
}

impl fmt::Display for ParseCpuListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: ", self.position)?;
        match self.kind {
            ParseCpuListErrorKind::ExpectedNumber => {
                f.write_str("expected a CPU number, as in `0-3,8`")
            }
            ParseCpuListErrorKind::ExpectedComma => {
                f.write_str("expected a comma or the end, as in `0-3,8`")
            }
            ParseCpuListErrorKind::ExpectedHexGroup => {
                f.write_str("expected one to eight hexadecimal digits, as in `ff,00000001`")
            }
            ParseCpuListErrorKind::ReversedRange { first, last } => {
                write!(f, "the range {first}-{last} runs backwards; write {last}-{first}")
            }
            ParseCpuListErrorKind::IdTooLarge => {
                write!(f, "a CPU id above {MAX_PARSED_ID}, the highest that is taken from a text")
            }
            ParseCpuListErrorKind::TextTooLong { limit } => {
                write!(f, "the text goes on; {limit} bytes hold every list of CPUs")
            }
        }
    }
}

impl core::error::Error for ParseCpuListError {}

/// Reads a list and calls `run(first, last)` (inclusive) for each run of ids.
///
/// Runs that touch or overlap their predecessor are joined first, so that a
/// hostile text cannot ask for the same long run thousands of times over.
/// Blanks and newlines around numbers are skipped; an empty text has no runs.
pub(super) fn parse_runs(
    text: &[u8],
    mut run: impl FnMut(u32, u32),
) -> Result<(), ParseCpuListError> {
    check_length(text)?;
    let mut at = skip_blanks(text, 0);
    if at == text.len() {
        return Ok(());
    }
    let mut pending: Option<(u32, u32)> = None;
    loop {
        let (first, last, next) = parse_range(text, at)?;
        pending = match pending {
            Some((low, high))
                if first <= high.saturating_add(1) && low <= last.saturating_add(1) =>
            {
                Some((low.min(first), high.max(last)))
            }
            earlier => {
                if let Some((low, high)) = earlier {
                    run(low, high);
                }
                Some((first, last))
            }
        };
        at = next;
        if at == text.len() {
            break;
        }
        if text[at] != b',' {
            return Err(ParseCpuListError::new(at, ParseCpuListErrorKind::ExpectedComma));
        }
        at = skip_blanks(text, at + 1);
    }
    if let Some((low, high)) = pending {
        run(low, high);
    }
    Ok(())
}

/// The highest id of a list + 1, without asking the heap; `None` for a list that is empty or broken.
#[cfg(feature = "std")]
pub(crate) fn list_bound(text: &[u8]) -> Option<u32> {
    let mut bound = None;
    parse_runs(text, |_, last| bound = bound.max(Some(last + 1))).ok()?;
    bound
}

/// One `first` or `first-last`, and where the text goes on behind it.
fn parse_range(text: &[u8], start: usize) -> Result<(u32, u32, usize), ParseCpuListError> {
    let (first, mut at) = parse_number(text, start)?;
    at = skip_blanks(text, at);
    if text.get(at) != Some(&b'-') {
        return Ok((first, first, at));
    }
    let (last, at) = parse_number(text, skip_blanks(text, at + 1))?;
    if last < first {
        let kind = ParseCpuListErrorKind::ReversedRange { first, last };
        return Err(ParseCpuListError::new(start, kind));
    }
    Ok((first, last, skip_blanks(text, at)))
}

fn parse_number(text: &[u8], start: usize) -> Result<(u32, usize), ParseCpuListError> {
    let mut at = start;
    let mut value = 0_u32;
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        // At most MAX_PARSED_ID * 10 + 9 before the check: no overflow.
        value = value * 10 + u32::from(digit - b'0');
        if value > MAX_PARSED_ID {
            return Err(ParseCpuListError::new(start, ParseCpuListErrorKind::IdTooLarge));
        }
        at += 1;
    }
    if at == start {
        return Err(ParseCpuListError::new(at, ParseCpuListErrorKind::ExpectedNumber));
    }
    Ok((value, at))
}

pub(super) fn check_length(text: &[u8]) -> Result<(), ParseCpuListError> {
    if text.len() > MAX_TEXT {
        let kind = ParseCpuListErrorKind::TextTooLong { limit: MAX_TEXT };
        return Err(ParseCpuListError::new(MAX_TEXT, kind));
    }
    Ok(())
}

pub(super) fn skip_blanks(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}
