//! Bytes of no field.

use super::Layout;
use super::lines::{Choice, Chosen};

/// Bytes that belong to no field of a map.
///
/// ```
/// use corelocal::cacheline::{Gap, GapKind, Layout, LayoutField};
///
/// let fields = [LayoutField::new("flag", 0, 1, 1), LayoutField::new("count", 8, 8, 8)];
/// let map = Layout::new("Slot", 24, 8, &fields, &[], &[]);
/// let gaps: Vec<Gap> = map.gaps().collect();
/// assert_eq!((gaps[0].kind, gaps[0].offset, gaps[0].size), (GapKind::Hole, 1, 7));
/// assert_eq!((gaps[1].kind, gaps[1].offset, gaps[1].size), (GapKind::Padding, 16, 8));
/// ```
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
///
/// ```
/// use corelocal::cacheline::{GapKind, Layout, LayoutField};
///
/// // Nobody knows what lies where a partial map has no field.
/// let fields = [LayoutField::new("head", 16, 8, 8)];
/// let map = Layout::new("Theirs", 24, 8, &fields, &[], &[]).partial();
/// assert!(map.gaps().all(|gap| gap.kind == GapKind::Unlisted));
/// ```
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
///
/// ```
/// use corelocal::cacheline::{Gaps, GapKind, Layout, LayoutField};
///
/// fn holes(gaps: Gaps<'_>) -> usize {
///     gaps.filter(|gap| gap.kind == GapKind::Hole).map(|gap| gap.size).sum()
/// }
/// let fields = [LayoutField::new("flag", 0, 1, 1), LayoutField::new("count", 8, 8, 8)];
/// assert_eq!(holes(Layout::new("Slot", 16, 8, &fields, &[], &[]).gaps()), 7);
/// ```
#[derive(Clone, Copy)]
pub struct Gaps<'a> {
    layout: Layout<'a>,
    all: Chosen<'a>,
    at: Option<usize>,
    /// Where the bytes end that were seen.
    seen: usize,
}

impl<'a> Layout<'a> {
    /// The bytes that belong to no field: holes between fields, padding behind the last, in the order
    /// of their offsets. Complexity: the square of the number of fields, for all of them.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! {
    ///     struct Slot { flag: u8, count: u64, id: u16 }
    /// }
    /// // Where a new field would cost nothing.
    /// let room = Slot::LAYOUT.gaps().max_by_key(|gap| gap.size).unwrap();
    /// assert_eq!((room.offset, room.size), (1, 7));
    /// # let _ = |slot: Slot| (slot.flag, slot.count, slot.id);
    /// ```
    pub fn gaps(&self) -> Gaps<'a> {
        let all = self.choose(Choice::All);
        Gaps { layout: *self, all, at: None, seen: 0 }
    }

    /// Bytes of fields, each counted once. Complexity: as [`gaps`](Self::gaps).
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! {
    ///     struct Slot { flag: u8, count: u64, id: u16 }
    /// }
    /// let map = Slot::LAYOUT;
    /// assert_eq!((map.used(), map.size()), (11, 24)); // more than half is wasted
    /// # let _ = |slot: Slot| (slot.flag, slot.count, slot.id);
    /// ```
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
