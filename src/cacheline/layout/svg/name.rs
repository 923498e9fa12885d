//! How a name is written into its box.

use core::fmt::{self, Write};

use super::{ASPECT, ROW};

/// Whether it is whole, how large, and which way up.
pub(super) struct Style<'n> {
    pub(super) words: Words<'n>,
    pub(super) size: usize,
    pub(super) is_upright: bool,
}

/// A name, whole or in two.
#[derive(Clone, Copy)]
pub(super) enum Words<'n> {
    One(&'n str),
    Two(&'n str, &'n str),
}

impl<'n> Words<'n> {
    /// The name in two at the underscore that is nearest to its middle.
    fn halves(name: &'n str) -> Self {
        let ends = name.match_indices('_').map(|(at, _)| at + 1);
        let inner = ends.filter(|end| (2..name.len()).contains(end));
        match inner.min_by_key(|end| name.len().abs_diff(2 * end)) {
            Some(end) => Self::Two(&name[..end], &name[end..]),
            None => Self::One(name),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.into_iter().count()
    }

    fn longest(&self) -> usize {
        self.into_iter().map(|words| words.chars().count()).max().unwrap_or(0).max(1)
    }
}

impl<'n> IntoIterator for Words<'n> {
    type Item = &'n str;
    type IntoIter = core::iter::Chain<core::iter::Once<&'n str>, core::option::IntoIter<&'n str>>;

    fn into_iter(self) -> Self::IntoIter {
        let (first, second) = match self {
            Self::One(name) => (name, None),
            Self::Two(first, second) => (first, Some(second)),
        };
        core::iter::once(first).chain(second)
    }
}

impl<'n> Style<'n> {
    const LARGEST: usize = 12;
    /// Large enough not to look for anything better.
    const LARGE: usize = 9;
    const SMALLEST: usize = 6;

    pub(super) fn of(name: &'n str, width: usize) -> Self {
        let fit = |words: Words<'n>, is_upright: bool| {
            let (along, across) = if is_upright { (ROW, width) } else { (width, ROW) };
            let by_length = along.saturating_sub(6) * 1000 / (words.longest() * ASPECT);
            let by_height = across.saturating_sub(2) / words.len();
            Self { words, size: by_length.min(by_height).min(Self::LARGEST), is_upright }
        };
        let (whole, halves) = (Words::One(name), Words::halves(name));
        let mut best = fit(whole, false);
        for other in [fit(halves, false), fit(whole, true), fit(halves, true)] {
            if best.size < Self::LARGE && other.size > best.size {
                best = other;
            }
        }
        best.size = best.size.max(Self::SMALLEST);
        best
    }
}

/// A name that is too long loses its end.
pub(super) struct Cut<'a>(pub(super) &'a str, pub(super) usize);

impl fmt::Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, room) = *self;
        match name.char_indices().nth(room.saturating_sub(1)) {
            Some((end, last)) if end + last.len_utf8() < name.len() => {
                write!(f, "{}\u{2026}", Escaped(&name[..end]))
            }
            _ => write!(f, "{}", Escaped(name)),
        }
    }
}

/// Text as XML wants it.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                // Not allowed in XML, not even as references.
                c if c.is_control() => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
