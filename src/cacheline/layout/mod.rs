//! [`Layout`]: where each byte of a struct lies, as a value.

mod access;
mod broken;
mod check;
mod diff;
mod field;
mod group;
mod holes;
mod lines;
mod message;
mod svg;
mod text;

use super::CACHE_LINE;

pub use access::{Access, Touch};
pub use broken::{Broken, BrokenKind};
pub use diff::Diff;
pub use field::LayoutField;
pub use group::{Group, Limit, Rule};
pub use holes::{Gap, GapKind, Gaps};
pub use lines::{LineSet, UnknownField};
pub(crate) use message::Message;

/// A map of a struct: its fields, its groups, and the fields that operations touch.
///
/// [`cacheline_struct!`](crate::cacheline_struct!) defines one as `T::LAYOUT`,
/// [`layout_map!`](crate::layout_map!) one for a struct that someone else defined, and a tool can
/// put one together from lists of its own with [`new`](Self::new) (the `'a` is for those).
///
/// * [`Display`](core::fmt::Display) prints a table of every byte; [`to_svg`](Self::to_svg) draws it.
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

    /// What changed from `before` to this map; printed with [`Display`](core::fmt::Display).
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
