//! Groups of fields, and what is promised of them.

use core::fmt;

/// A named set of fields that are used together, and what is promised about where they lie.
///
/// ```
/// use corelocal::cacheline::{Group, Layout, LayoutField, Limit, Rule};
///
/// let fields = [LayoutField::new("load", 0, 8, 8).in_group("hot")];
/// let hot = [Group::new("hot", &[Rule::Lines(Limit::AtMost(1)), Rule::Aligned])];
/// let map = Layout::new("Rq", 8, 64, &fields, &hot, &[]).with_line(64);
/// assert_eq!(map.broken(), None);
/// assert!(map.with_line(128).broken().is_some()); // there it may begin in the middle of a line
/// ```
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
    ///
    /// ```
    /// use corelocal::cacheline::{Group, Rule};
    ///
    /// const GROUPS: [Group<'_>; 2] =
    ///     [Group::new("readers", &[]), Group::new("writers", &[Rule::Apart("readers")])];
    /// assert_eq!(GROUPS[1].rules, [Rule::Apart("readers")]);
    /// ```
    pub const fn new(name: &'a str, rules: &'a [Rule<'a>]) -> Self {
        Self { name, rules }
    }
}

/// A promise about a [`Group`].
///
/// ```
/// use corelocal::cacheline::{Group, Layout, LayoutField, Rule};
///
/// let fields = [
///     LayoutField::new("limit", 0, 8, 8).in_group("readers"),
///     LayoutField::new("count", 8, 8, 8).in_group("writers"),
/// ];
/// let groups = [Group::new("readers", &[]), Group::new("writers", &[Rule::Apart("readers")])];
/// let broken = Layout::new("Gate", 16, 64, &fields, &groups, &[]).broken().unwrap();
/// assert_eq!((broken.of(), broken.field().unwrap().name), ("writers", "count"));
/// ```
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
///
/// ```
/// use corelocal::cacheline::{Access, Limit, Touch};
///
/// const WAKE: Access<'_> =
///     Access::new("wake", &[Touch::write("running")]).in_lines(Limit::AtMost(2));
/// assert_eq!(WAKE.lines.map(|limit| limit.to_string()), Some(String::from("<= 2")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// No more than this.
    AtMost(usize),
    /// Neither more nor less.
    Exactly(usize),
}

impl Limit {
    /// The number.
    ///
    /// ```
    /// use corelocal::cacheline::Limit;
    ///
    /// assert_eq!([Limit::AtMost(2), Limit::Exactly(3)].map(Limit::number), [2, 3]);
    /// ```
    pub const fn number(self) -> usize {
        match self {
            Self::AtMost(number) | Self::Exactly(number) => number,
        }
    }

    pub(super) const fn allows(self, found: usize) -> bool {
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
