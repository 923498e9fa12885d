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
    ///
    /// What is given is believed: nothing is checked here. Whatever then asks for lines or gaps
    /// panics if there are more than 1024 fields.
    ///
    /// ```
    /// use corelocal::cacheline::{Layout, LayoutField};
    ///
    /// // As `pahole` prints it, one line a field: name, offset, size, alignment.
    /// let text = "nr_running 0 4 4\nload 8 16 8\nclock 64 8 8";
    /// let fields: Vec<LayoutField<'_>> = text
    ///     .lines()
    ///     .map(|line| {
    ///         let words: Vec<&str> = line.split(' ').collect();
    ///         let [offset, size, align] = [1, 2, 3].map(|at| words[at].parse().unwrap());
    ///         LayoutField::new(words[0], offset, size, align)
    ///     })
    ///     .collect();
    /// let map = Layout::new("rq", 128, 64, &fields, &[], &[]);
    /// assert_eq!(map.with_line(64).lines_of(&["nr_running", "clock"]).unwrap().count(), 2);
    /// ```
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
    ///
    /// ```
    /// use corelocal::cacheline::{Group, Layout, LayoutField, Rule};
    ///
    /// let fields = [LayoutField::new("load", 0, 8, 8).in_group("hot")];
    /// let groups = [Group::new("hot", &[Rule::Holds(&["load", "throttled"])])];
    /// let map = Layout::new("Rq", 8, 8, &fields, &groups, &[]);
    /// assert!(map.broken().is_some());
    /// // `throttled` is there in builds with bandwidth control only.
    /// assert_eq!(map.declaring(&["throttled"]).broken(), None);
    /// ```
    #[must_use]
    pub const fn declaring(mut self, names: &'a [&'a str]) -> Self {
        self.declared = names;
        self
    }

    /// Says that the struct has fields that are not on the map: bytes of none are not holes then.
    ///
    /// ```
    /// use corelocal::cacheline::{GapKind, Layout, LayoutField};
    ///
    /// let fields = [LayoutField::new("head", 0, 8, 8), LayoutField::new("tail", 128, 8, 8)];
    /// let map = Layout::new("Theirs", 192, 64, &fields, &[], &[]).partial();
    /// assert_eq!(map.gaps().next().unwrap().kind, GapKind::Unlisted); // not a hole
    /// ```
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
    ///
    /// ```
    /// # use corelocal::{cacheline::Layout, cacheline_struct};
    /// cacheline_struct! { struct Queue { running: u32 } }
    /// cacheline_struct! { struct Entity { weight: u64 } }
    /// let names = [Queue::LAYOUT, Entity::LAYOUT].map(|map: Layout<'_>| format!("{}.svg", map.name()));
    /// assert_eq!(names, ["Queue.svg", "Entity.svg"]);
    /// # let _ = |queue: Queue, entity: Entity| (queue.running, entity.weight);
    /// ```
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// The struct's size in bytes.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! { struct Queue { running: u32, weight: u64 } }
    /// const { assert!(Queue::LAYOUT.size() <= 16, "a table of them is to stay small") };
    /// # let _ = |queue: Queue| (queue.running, queue.weight);
    /// ```
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The struct's alignment in bytes.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! { #[repr(align(32))] struct Queue { running: u32 } }
    /// assert_eq!(Queue::LAYOUT.align(), align_of::<Queue>());
    /// # let _ = |queue: Queue| queue.running;
    /// ```
    pub const fn align(&self) -> usize {
        self.align
    }

    /// The size of a line in bytes.
    ///
    /// ```
    /// # use corelocal::{CACHE_LINE, cacheline_struct};
    /// cacheline_struct! { struct Queue { running: u32 } }
    /// assert_eq!(Queue::LAYOUT.line(), CACHE_LINE);
    /// assert_eq!(Queue::LAYOUT.with_line(256).line(), 256);
    /// # let _ = |queue: Queue| queue.running;
    /// ```
    pub const fn line(&self) -> usize {
        self.line
    }

    /// How many lines the struct takes, from its first byte.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! { #[repr(align(64))] struct Queue { name: [u64; 9] } }
    /// let map = Queue::LAYOUT;
    /// assert_eq!((map.with_line(64).lines(), map.with_line(128).lines()), (2, 1));
    /// # let _ = |queue: Queue| queue.name;
    /// ```
    pub const fn lines(&self) -> usize {
        self.size.div_ceil(self.line)
    }

    /// Whether every struct begins on a line.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! { #[repr(align(64))] struct Queue { running: u32 } }
    /// let map = Queue::LAYOUT;
    /// assert!(map.with_line(64).begins_on_a_line());
    /// assert!(!map.with_line(128).begins_on_a_line()); // there it may begin in the middle of one
    /// # let _ = |queue: Queue| queue.running;
    /// ```
    pub const fn begins_on_a_line(&self) -> bool {
        self.align >= self.line
    }

    /// Whether the struct has fields that are not on the map.
    ///
    /// ```
    /// # use corelocal::layout_map;
    /// #[repr(C)]
    /// pub struct Theirs { pub head: u64, pub name: [u8; 40], pub tail: u64 }
    /// layout_map! { const MAP: Theirs { head, tail, .. } }
    /// assert!(MAP.is_partial(), "so a gap of it may be a field");
    /// ```
    pub const fn is_partial(&self) -> bool {
        self.partial
    }

    /// The fields in the order of their definition.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! { struct Queue { running: u32, name: [u64; 9], weight: u64 } }
    /// let largest = Queue::LAYOUT.fields().iter().max_by_key(|field| field.size).unwrap();
    /// assert_eq!((largest.name, largest.size), ("name", 72));
    /// # let _ = |queue: Queue| (queue.running, queue.name, queue.weight);
    /// ```
    pub const fn fields(&self) -> &'a [LayoutField<'a>] {
        self.fields
    }

    /// The groups.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! {
    ///     struct Queue { group hot(lines <= 1) { running: u32 } group cold { created: u64 } }
    /// }
    /// let promised: Vec<_> =
    ///     Queue::LAYOUT.groups().iter().filter(|group| !group.rules.is_empty()).map(|g| g.name).collect();
    /// assert_eq!(promised, ["hot"]);
    /// # let _ = |queue: Queue| (queue.running, queue.created);
    /// ```
    pub const fn groups(&self) -> &'a [Group<'a>] {
        self.groups
    }

    /// The operations, with the fields that they touch.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! {
    ///     #[repr(align(64))]
    ///     struct Queue { running: u32, name: [u64; 9], weight: u64 }
    ///     touches wake { mut running, weight };
    ///     touches print { name };
    /// }
    /// let map = Queue::LAYOUT.with_line(64);
    /// let lines = map.accesses().iter().map(|access| (access.name, map.lines_of_access(access).count()));
    /// assert_eq!(lines.collect::<Vec<_>>(), [("wake", 2), ("print", 2)]);
    /// # let _ = |queue: Queue| (queue.running, queue.name, queue.weight);
    /// ```
    pub const fn accesses(&self) -> &'a [Access<'a>] {
        self.accesses
    }

    /// The field of this name. Complexity: linear in the number of fields.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! { struct Queue { running: u32, weight: u64 } }
    /// // In a constant too: what assembly or a debugger's script has written down.
    /// const WEIGHT: usize = match Queue::LAYOUT.field("weight") {
    ///     Some(field) => field.offset,
    ///     None => panic!("no such field"),
    /// };
    /// assert_eq!((WEIGHT, Queue::LAYOUT.field("wait")), (8, None));
    /// # let _ = |queue: Queue| (queue.running, queue.weight);
    /// ```
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
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// mod v1 { corelocal::cacheline_struct! { pub struct Queue { pub running: u32, pub weight: u64 } } }
    /// mod v2 { corelocal::cacheline_struct! { pub struct Queue { pub weight: u64, pub running: u32 } } }
    /// let diff = v2::Queue::LAYOUT.diff(&v1::Queue::LAYOUT).to_string();
    /// assert!(diff.contains("weight") && diff.contains("running"), "{diff}");
    /// # let _ = |a: v1::Queue, b: v2::Queue| (a.running, a.weight, b.running, b.weight);
    /// ```
    pub const fn diff<'d>(&'d self, before: &'d Layout<'d>) -> Diff<'d> {
        Diff::new(before, self)
    }
}

/// One field of a [`Layout`].
///
/// ```
/// use corelocal::cacheline::{Layout, LayoutField};
///
/// let fields = [LayoutField::new("id", 0, 4, 4), LayoutField::new("load", 8, 16, 8)];
/// let map = Layout::new("Rq", 24, 8, &fields, &[], &[]);
/// let LayoutField { offset, size, .. } = map.field("load").unwrap();
/// assert_eq!((offset, size), (8, 16));
/// ```
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
    ///
    /// ```
    /// use corelocal::cacheline::LayoutField;
    ///
    /// #[repr(C)]
    /// struct Rq { id: u32, load: [u64; 2] }
    /// // What `layout_map!` does, where the names are not known when the program is written.
    /// let load = LayoutField::new(
    ///     "load", std::mem::offset_of!(Rq, load), size_of::<[u64; 2]>(), align_of::<[u64; 2]>());
    /// assert_eq!(load.offset % load.align, 0);
    /// # let _ = |rq: Rq| (rq.id, rq.load);
    /// ```
    pub const fn new(name: &'a str, offset: usize, size: usize, align: usize) -> Self {
        Self { name, offset, size, align, group: None }
    }

    /// The same field as a member of `group`.
    ///
    /// ```
    /// use corelocal::cacheline::{Layout, LayoutField};
    ///
    /// let fields = [
    ///     LayoutField::new("load", 0, 8, 8).in_group("hot"),
    ///     LayoutField::new("name", 8, 32, 1),
    ///     LayoutField::new("clock", 40, 8, 8).in_group("hot"),
    /// ];
    /// let map = Layout::new("Rq", 48, 64, &fields, &[], &[]).with_line(64);
    /// assert!(map.lines_of_group("hot").contains(0));
    /// assert_eq!(map.fields().iter().filter(|field| field.group == Some("hot")).count(), 2);
    /// ```
    #[must_use]
    pub const fn in_group(mut self, group: &'a str) -> Self {
        self.group = Some(group);
        self
    }

    /// Where it ends: the byte after its last.
    ///
    /// ```
    /// use corelocal::cacheline::LayoutField;
    ///
    /// let (load, clock) = (LayoutField::new("load", 8, 16, 8), LayoutField::new("clock", 32, 8, 8));
    /// assert_eq!(clock.offset - load.end(), 8); // a hole
    /// ```
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
///
/// ```
/// use corelocal::cacheline::{Access, Layout, LayoutField, Limit, Touch};
///
/// let fields = [LayoutField::new("head", 0, 8, 8), LayoutField::new("tail", 64, 8, 8)];
/// const PUSH: Access<'_> = Access::new("push", &[Touch::read("head"), Touch::write("tail")]);
/// let promised = [PUSH.in_lines(Limit::AtMost(1))];
/// let map = Layout::new("Ring", 128, 64, &fields, &[], &promised).with_line(64);
/// assert_eq!((map.lines_of_access(&PUSH).count(), map.broken().is_some()), (2, true));
/// ```
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
    ///
    /// ```
    /// use corelocal::cacheline::{Access, Layout, LayoutField, Touch};
    ///
    /// let fields = [LayoutField::new("head", 0, 8, 8), LayoutField::new("tail", 64, 8, 8)];
    /// let map = Layout::new("Ring", 128, 64, &fields, &[], &[]).with_line(64);
    /// const CLEAR: Access<'_> = Access::new("clear", &[Touch::write("head"), Touch::write("tail")]);
    /// assert_eq!(map.lines_of_access(&CLEAR).to_string(), "{0, 1}");
    /// ```
    pub const fn new(name: &'a str, touches: &'a [Touch<'a>]) -> Self {
        Self { name, touches, lines: None }
    }

    /// The same operation with a promise.
    ///
    /// ```
    /// use corelocal::cacheline::{Access, Limit, Touch};
    ///
    /// const PEEK: Access<'_> = Access::new("peek", &[Touch::read("head")]).in_lines(Limit::Exactly(1));
    /// assert_eq!(PEEK.lines, Some(Limit::Exactly(1)));
    /// ```
    #[must_use]
    pub const fn in_lines(mut self, limit: Limit) -> Self {
        self.lines = Some(limit);
        self
    }
}

/// A field that an operation touches.
///
/// ```
/// # use corelocal::cacheline_struct;
/// cacheline_struct! {
///     struct Ring { head: u64, tail: u64 }
///     touches push { head, mut tail };
/// }
/// let written: Vec<&str> = Ring::LAYOUT.accesses()[0]
///     .touches.iter().filter(|touch| touch.written).map(|touch| touch.field).collect();
/// assert_eq!(written, ["tail"]);
/// # let _ = |ring: Ring| (ring.head, ring.tail);
/// ```
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
    ///
    /// ```
    /// # use corelocal::cacheline::{Access, Touch};
    /// const PEEK: Access<'_> = Access::new("peek", &[Touch::read("head"), Touch::read("tail")]);
    /// assert!(PEEK.touches.iter().all(|touch| !touch.written)); // any number of CPUs at once
    /// ```
    pub const fn read(field: &'a str) -> Self {
        Self { field, written: false }
    }

    /// A field that is written.
    ///
    /// ```
    /// # use corelocal::cacheline::{Access, Touch};
    /// const PUSH: Access<'_> = Access::new("push", &[Touch::read("head"), Touch::write("tail")]);
    /// let written = PUSH.touches.iter().filter(|touch| touch.written).map(|touch| touch.field);
    /// assert!(written.eq(["tail"]));
    /// ```
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
