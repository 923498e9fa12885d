//! [`Layout`]: where each byte of a struct lies, as a value.

mod broken;
mod check;
mod diff;
mod holes;
mod lines;
mod message;
mod svg;
mod text;

use super::CACHE_LINE;
use core::fmt;

pub use broken::{Broken, BrokenKind};
pub use diff::Diff;
pub use holes::{Gap, GapKind, Gaps};
pub use lines::{LineSet, UnknownField};
pub(crate) use message::Message;

/// A map of a struct: its fields, its groups, and the fields that operations touch.
///
/// [`cacheline_struct!`](crate::cacheline_struct!) defines one as `T::LAYOUT`,
/// [`layout_map!`](crate::layout_map!) one for a struct that someone else defined, and a tool can
/// put one together from lists of its own with [`new`](Self::new) (the `'a` is for those).
///
/// * [`Display`](fmt::Display) prints a table of every byte; [`to_svg`](Self::to_svg) draws it.
/// * [`lines_of`](Self::lines_of) tells which lines a set of fields lies on.
/// * [`diff`](Self::diff) compares two maps.
/// * [`broken`](Self::broken) checks the promises, as the compiler does.
///
/// Lines are counted from the struct's first byte. Where the struct is aligned to less than a line,
/// it may begin anywhere in one; then every number of lines is the largest that any place gives.
///
/// ```
/// use corelocal::cacheline::{Layout, LayoutField};
///
/// let fields = [LayoutField::new("a", 0, 4, 4), LayoutField::new("b", 64, 8, 8)];
/// let map = Layout::new("S", 128, 64, &fields, &[], &[]).with_line(64);
/// assert_eq!(map.lines_of(&["a", "b"]).unwrap().count(), 2);
/// assert_eq!(map.gaps().map(|gap| gap.size).sum::<usize>(), 128 - 12);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout<'a> {
    name: &'a str,
    size: usize,
    align: usize,
    line: usize,
    fields: &'a [LayoutField<'a>],
    groups: &'a [Group<'a>],
    accesses: &'a [Access<'a>],
    /// All names that groups and accesses may use: a field under a `cfg` may not be there.
    declared: &'a [&'a str],
    /// Whether fields were left out of `fields`.
    partial: bool,
}

impl<'a> Layout<'a> {
    /// A map of the struct `name`, on lines of [`CACHE_LINE`] bytes. Complexity: constant.
    pub const fn new(
        name: &'a str,
        size: usize,
        align: usize,
        fields: &'a [LayoutField<'a>],
        groups: &'a [Group<'a>],
        accesses: &'a [Access<'a>],
    ) -> Self {
        let (line, declared, partial) = (CACHE_LINE, &[] as &[&str], false);
        Self { name, size, align, line, fields, groups, accesses, declared, partial }
    }

    /// The same bytes on lines of another size: what a machine with such lines would make of them.
    ///
    /// ```
    /// use corelocal::cacheline::{Layout, LayoutField};
    /// let fields = [LayoutField::new("a", 0, 8, 8), LayoutField::new("b", 64, 8, 8)];
    /// let map = Layout::new("S", 128, 128, &fields, &[], &[]);
    /// assert_eq!(map.with_line(64).lines_of(&["a", "b"]).unwrap().count(), 2);
    /// assert_eq!(map.with_line(128).lines_of(&["a", "b"]).unwrap().count(), 1);
    /// ```
    ///
    /// # Panics
    ///
    /// If `bytes` is not a power of two.
    pub const fn with_line(mut self, bytes: usize) -> Self {
        assert!(bytes.is_power_of_two(), "a cache line's size is a power of two");
        self.line = bytes;
        self
    }

    /// Says that groups and accesses may also name these fields, which this build may not have.
    #[must_use]
    pub const fn declaring(mut self, names: &'a [&'a str]) -> Self {
        self.declared = names;
        self
    }

    /// Says that the struct has fields that are not on the map: bytes of none are not holes then.
    #[must_use]
    pub const fn partial(mut self) -> Self {
        self.partial = true;
        self
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn __partial_if(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }

    /// The struct's name.
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// The struct's size in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The struct's alignment in bytes.
    pub const fn align(&self) -> usize {
        self.align
    }

    /// The size of a line in bytes.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// How many lines the struct takes, from its first byte.
    pub const fn lines(&self) -> usize {
        self.size.div_ceil(self.line)
    }

    /// Whether every struct begins on a line.
    pub const fn begins_on_a_line(&self) -> bool {
        self.align >= self.line
    }

    /// Whether the struct has fields that are not on the map.
    pub const fn is_partial(&self) -> bool {
        self.partial
    }

    /// The fields in the order of their definition.
    pub const fn fields(&self) -> &'a [LayoutField<'a>] {
        self.fields
    }

    /// The groups.
    pub const fn groups(&self) -> &'a [Group<'a>] {
        self.groups
    }

    /// The operations, with the fields that they touch.
    pub const fn accesses(&self) -> &'a [Access<'a>] {
        self.accesses
    }

    /// The field of this name. Complexity: linear in the number of fields.
    pub const fn field(&self, name: &str) -> Option<LayoutField<'a>> {
        match self.index_of(name) {
            Some(at) => Some(self.fields[at]),
            None => None,
        }
    }

    const fn index_of(&self, name: &str) -> Option<usize> {
        let mut at = 0;
        while at < self.fields.len() {
            if same(self.fields[at].name, name) {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// What changed from `before` to this map; printed with [`Display`](fmt::Display).
    pub const fn diff<'d>(&'d self, before: &'d Layout<'d>) -> Diff<'d> {
        Diff::new(before, self)
    }
}

/// One field of a [`Layout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LayoutField<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it begins, in bytes from the struct's first.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
    /// The group it belongs to.
    pub group: Option<&'a str>,
}

impl<'a> LayoutField<'a> {
    /// A field that belongs to no group.
    pub const fn new(name: &'a str, offset: usize, size: usize, align: usize) -> Self {
        Self { name, offset, size, align, group: None }
    }

    /// The same field as a member of `group`.
    #[must_use]
    pub const fn in_group(mut self, group: &'a str) -> Self {
        self.group = Some(group);
        self
    }

    /// Where it ends: the byte after its last.
    pub const fn end(&self) -> usize {
        self.offset.saturating_add(self.size)
    }

    const fn is_in(&self, group: &str) -> bool {
        match self.group {
            Some(own) => same(own, group),
            None => false,
        }
    }
}

/// A named set of fields that are used together, and what is promised about where they lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Group<'a> {
    /// Its name.
    pub name: &'a str,
    /// The promises.
    pub rules: &'a [Rule<'a>],
}

impl<'a> Group<'a> {
    /// A group; its members are the fields that name it.
    pub const fn new(name: &'a str, rules: &'a [Rule<'a>]) -> Self {
        Self { name, rules }
    }
}

/// A promise about a [`Group`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rule<'a> {
    /// So many lines hold its members.
    Lines(Limit),
    /// So many bytes lie between its first member's first and its last member's last.
    Bytes(Limit),
    /// It begins on a line.
    Aligned,
    /// It begins on a line where lines have this many bytes.
    AlignedIf(usize),
    /// Its lines hold no other field, and nothing that lies beside the struct.
    Exclusive,
    /// It shares no line with that group.
    Apart(&'a str),
    /// These fields are members.
    Holds(&'a [&'a str]),
    /// Its members lie between the first byte of the one field and the last of the other.
    Within(&'a str, &'a str),
}

/// How many of something there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// No more than this.
    AtMost(usize),
    /// Neither more nor less.
    Exactly(usize),
}

impl Limit {
    /// The number.
    pub const fn number(self) -> usize {
        match self {
            Self::AtMost(number) | Self::Exactly(number) => number,
        }
    }

    const fn allows(self, found: usize) -> bool {
        match self {
            Self::AtMost(number) => found <= number,
            Self::Exactly(number) => found == number,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(number) => write!(f, "<= {number}"),
            Self::Exactly(number) => write!(f, "== {number}"),
        }
    }
}

/// An operation: the fields that it touches, and on how many lines they may lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Access<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it touches.
    pub touches: &'a [Touch<'a>],
    /// The promise; an operation can also be there for others to count its lines.
    pub lines: Option<Limit>,
}

impl<'a> Access<'a> {
    /// An operation that touches these fields.
    pub const fn new(name: &'a str, touches: &'a [Touch<'a>]) -> Self {
        Self { name, touches, lines: None }
    }

    /// The same operation with a promise.
    #[must_use]
    pub const fn in_lines(mut self, limit: Limit) -> Self {
        self.lines = Some(limit);
        self
    }
}

/// A field that an operation touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Touch<'a> {
    /// The field's name.
    pub field: &'a str,
    /// Whether the operation writes it (`mut` in the macros); it may also read it.
    pub written: bool,
}

impl<'a> Touch<'a> {
    /// A field that is read.
    pub const fn read(field: &'a str) -> Self {
        Self { field, written: false }
    }

    /// A field that is written.
    pub const fn write(field: &'a str) -> Self {
        Self { field, written: true }
    }
}

/// Whether two names are the same, where `==` is not to be had: in constants.
const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether `names` has `name`.
const fn has(names: &[&str], name: &str) -> bool {
    let mut at = 0;
    while at < names.len() {
        if same(names[at], name) {
            return true;
        }
        at += 1;
    }
    false
}
