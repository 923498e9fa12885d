//! Bytes of no field.

use super::Layout;
use super::lines::{Choice, Chosen};

/// Bytes that belong to no field of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Gap {
    /// Where it begins.
    pub offset: usize,
    /// How many bytes.
    pub size: usize,
    /// What it is.
    pub kind: GapKind,
}

/// What a [`Gap`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GapKind {
    /// Between two fields.
    Hole,
    /// Behind the last field.
    Padding,
    /// Perhaps fields that are not on the map.
    Unlisted,
}

/// The gaps of a map in ascending order; see [`Layout::gaps`].
#[derive(Clone, Copy)]
pub struct Gaps<'a> {
    layout: Layout<'a>,
    all: Chosen<'a>,
    at: Option<usize>,
    /// Where the bytes end that were seen.
    seen: usize,
}

impl<'a> Layout<'a> {
    /// The bytes that belong to no field: holes between fields, padding behind the last.
    pub fn gaps(&self) -> Gaps<'a> {
        let all = self.choose(Choice::All);
        Gaps { layout: *self, all, at: None, seen: 0 }
    }

    /// Bytes of fields.
    pub fn used(&self) -> usize {
        self.size.saturating_sub(self.gaps().map(|gap| gap.size).sum())
    }
}

impl Iterator for Gaps<'_> {
    type Item = Gap;

    fn next(&mut self) -> Option<Gap> {
        let unless = |kind| if self.layout.partial { GapKind::Unlisted } else { kind };
        while let Some(at) = self.all.next(self.at) {
            let field = &self.layout.fields[at];
            let (offset, end) = (self.seen, field.end());
            self.at = Some(at);
            self.seen = self.seen.max(end);
            if field.offset > offset {
                let size = field.offset - offset;
                return Some(Gap { offset, size, kind: unless(GapKind::Hole) });
            }
        }
        let (offset, end) = (self.seen, self.layout.size);
        self.seen = self.seen.max(end);
        let padding =
            Gap { offset, size: end.saturating_sub(offset), kind: unless(GapKind::Padding) };
        (padding.size > 0).then_some(padding)
    }
}

impl core::iter::FusedIterator for Gaps<'_> {}

impl core::fmt::Debug for Gaps<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}
