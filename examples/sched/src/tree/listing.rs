//! The saved form of a tree: text, one group a line, in any order.
//!
//! ```text
//! # corelocal task groups 1
//! # path shares quota period
//! /system.slice 1024 max 100000
//! /system.slice/cron.service 512 20000 100000
//! ```
//!
//! `path` starts with `/`; the root itself is not listed. Bytes of a name that are not printable
//! ASCII, the space, `#` and `\` are written as `\ooo`, three octal digits. `shares` is 2 to
//! 262144; `quota` is microseconds in each `period`, or `max`. Empty lines and lines that start
//! with `#` mean nothing.

use super::{Limits, MAX_GROUPS, SHARES, Tree, TreeError};
use core::fmt;
use std::io::{self, Write};

/// Why a listing is no tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListingError {
    /// The line of this number (from 1) is malformed: what was wrong, what would be right.
    Line(usize, String),
    /// The lines are right, but they are no tree.
    Tree(TreeError),
}

impl fmt::Display for ListingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line, what) => write!(f, "line {line}: {what}"),
            Self::Tree(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ListingError {}

/// Reads a listing.
///
/// # Errors
///
/// [`ListingError`], with the line's number where one line is to blame. No input panics.
pub fn parse(text: &[u8]) -> Result<Tree, ListingError> {
    let mut groups = Vec::new();
    for (at, line) in text.split(|&c| c == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        if groups.len() as u64 == MAX_GROUPS {
            return Err(ListingError::Tree(TreeError::TooMany(Some(u128::from(MAX_GROUPS) + 1))));
        }
        groups.push(parse_line(line).map_err(|what| ListingError::Line(at + 1, what))?);
    }
    Tree::from_paths(groups).map_err(ListingError::Tree)
}

/// Writes `tree` as a listing.
///
/// # Errors
///
/// Those of `out`.
pub fn write(tree: &Tree, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# corelocal task groups 1\n# path shares quota period")?;
    for group in &tree.groups {
        let Limits { shares, quota, period } = group.limits;
        let quota = quota.map_or_else(|| "max".to_owned(), |q| q.to_string());
        writeln!(out, "{} {shares} {quota} {period}", escape(&group.path))?;
    }
    Ok(())
}

/// `path` with every byte that could be mistaken written as `\ooo`.
pub fn escape(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for &byte in path {
        if byte.is_ascii_graphic() && byte != b'\\' && byte != b'#' {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("\\{byte:03o}"));
        }
    }
    text
}

fn parse_line(line: &[u8]) -> Result<(Vec<u8>, Limits), String> {
    let mut fields = line.split(|c| c.is_ascii_whitespace()).filter(|f| !f.is_empty());
    let (Some(path), Some(shares), Some(quota), Some(period), None) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err("not four fields: path shares quota period".to_owned());
    };
    let shares = within("shares", shares, SHARES)?;
    let quota = if quota == b"max" { None } else { Some(positive("quota", quota)?) };
    let period = positive("period", period)?;
    Ok((unescape(path)?, Limits { shares, quota, period }))
}

/// A decimal number without sign.
fn number(what: &str, field: &[u8]) -> Result<u64, String> {
    let shown = escape(&field[..field.len().min(40)]);
    if field.is_empty() || !field.iter().all(u8::is_ascii_digit) {
        return Err(format!("{what} '{shown}' is not a number"));
    }
    let digits = core::str::from_utf8(field).expect("ASCII digits are UTF-8");
    digits.parse().map_err(|_| format!("{what} '{shown}' is larger than {}", u64::MAX))
}

/// A number in `range`.
pub(super) fn within(
    what: &str,
    field: &[u8],
    range: core::ops::RangeInclusive<u64>,
) -> Result<u64, String> {
    let value = number(what, field)?;
    if range.contains(&value) {
        return Ok(value);
    }
    Err(format!("{what} {value} is not {} to {}", range.start(), range.end()))
}

/// A number of microseconds.
pub(super) fn positive(what: &str, field: &[u8]) -> Result<u64, String> {
    match number(what, field)? {
        0 => Err(format!("{what} is 0: it must be at least 1 microsecond")),
        number => Ok(number),
    }
}

fn unescape(field: &[u8]) -> Result<Vec<u8>, String> {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'\\' {
            path.push(byte);
            rest = after;
            continue;
        }
        let [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] = after else {
            return Err("a backslash in a path is not followed by three octal digits".to_owned());
        };
        path.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
        rest = after;
    }
    let shown = || escape(&path[..path.len().min(200)]);
    let Some(names) = path.strip_prefix(b"/") else {
        return Err(format!("path '{}' does not start with /", shown()));
    };
    if names.is_empty() {
        return Err("the root group is not listed: its limits are those of the machine".to_owned());
    }
    for name in names.split(|&c| c == b'/') {
        match name {
            b"" => return Err(format!("path '{}' has an empty name", shown())),
            b"." | b".." => {
                return Err(format!("path '{}' loops: . and .. are no groups", shown()));
            }
            _ if name.contains(&0) => return Err(format!("path '{}' has a zero byte", shown())),
            _ => {}
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_listing_is_read_in_any_order() {
        let text = "# x\n/a/b 512 20000 100000\r\n\n/c 2 max 1\n/a 1024 max 100000\n";
        let tree = parse(text.as_bytes()).unwrap();
        let seen: Vec<_> =
            tree.groups.iter().map(|g| (escape(&g.path), g.parent, g.limits.quota)).collect();
        assert_eq!(
            seen,
            [("/a".into(), 0, None), ("/a/b".into(), 1, Some(20000)), ("/c".into(), 0, None)]
        );
    }

    #[test]
    fn a_malformed_line_is_named_by_its_number() {
        assert_eq!(said("/a 1024 max 100000\n/b x max 1"), "line 2: shares 'x' is not a number");
        assert_eq!(said("/a 1024 -1 1"), "line 1: quota '-1' is not a number");
        assert_eq!(said("/a 1 max 1"), "line 1: shares 1 is not 2 to 262144");
        assert_eq!(said("/a 2 max 0"), "line 1: period is 0: it must be at least 1 microsecond");
        assert_eq!(said("\n\n/a 2 max"), "line 3: not four fields: path shares quota period");
        assert!(said("/a 2 max 99999999999999999999").contains("is larger than"));
        assert!(said("a 2 max 1").contains("does not start with /"));
        assert!(said("/a//b 2 max 1").contains("empty name"));
        assert!(said("/ 2 max 1").contains("root"));
        assert!(said("/a\\9 2 max 1").contains("octal"));
    }

    #[test]
    fn cycles_and_orphans_are_refused() {
        assert_eq!(
            said("/a 2 max 1\n/b 2 max 1\n/a 3 max 1"),
            "group /a is given twice: the tree has a cycle"
        );
        assert!(said("/a 2 max 1\n/a/.. 2 max 1").contains("loops"));
        assert_eq!(said("/a/b 2 max 1"), "group /a/b is an orphan: its parent is not given");
        assert!(said("/a 2 max 1\n/a/b/c 2 max 1").contains("orphan"));
    }

    fn trees() -> impl Strategy<Value = Tree> {
        let name = proptest::collection::vec(1_u8..=255, 1..6)
            .prop_filter("a name", |n| !n.contains(&b'/') && n != b"." && n != b"..");
        let limits = (SHARES, proptest::option::of(1_u64..), 1_u64..)
            .prop_map(|(shares, quota, period)| Limits { shares, quota, period });
        proptest::collection::vec((any::<prop::sample::Index>(), name, limits), 0..40).prop_map(
            |steps| {
                let mut groups: Vec<(Vec<u8>, Limits)> = Vec::new();
                for (parent, name, limits) in steps {
                    let at = parent.index(groups.len() + 1);
                    let mut path = if at == 0 { Vec::new() } else { groups[at - 1].0.clone() };
                    path.push(b'/');
                    path.extend_from_slice(&name);
                    if groups.iter().all(|(p, _)| *p != path) {
                        groups.push((path, limits));
                    }
                }
                Tree::from_paths(groups).expect("a tree by construction")
            },
        )
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(text in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&text);
        }

        #[test]
        fn no_line_that_looks_like_a_group_makes_the_parser_panic(
            text in r"(/[a-c.\\/0-9]{0,9} [0-9x]{1,22} (max|[0-9]{1,4}) [0-9]{1,3}\n){0,6}"
        ) {
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn what_is_written_is_read_back(tree in trees(), seed: u64) {
            let mut text = Vec::new();
            write(&tree, &mut text).unwrap();
            prop_assert_eq!(&parse(&text).unwrap(), &tree);
            let mut lines: Vec<&[u8]> = text.split(|&c| c == b'\n').collect();
            crate::rng::Rng::new(seed).shuffle(&mut lines);
            prop_assert_eq!(&parse(&lines.join(&b'\n')).unwrap(), &tree);
        }
    }
}
