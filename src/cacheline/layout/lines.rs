//! Which lines a set of fields lies on.

use core::fmt;

use super::{Access, Layout, LayoutField, Touch, has, same};

/// A choice among a map's fields.
#[derive(Clone, Copy)]
pub(super) enum Choice<'c> {
    All,
    Group(&'c str),
    Touched(&'c [Touch<'c>]),
    Named(&'c [&'c str]),
}

impl Choice<'_> {
    const fn has(&self, field: &LayoutField<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Group(group) => field.is_in(group),
            Self::Named(names) => has(names, field.name),
            Self::Touched(touches) => {
                let mut at = 0;
                while at < touches.len() {
                    if same(touches[at].field, field.name) {
                        return true;
                    }
                    at += 1;
                }
                false
            }
        }
    }
}

/// More fields than anyone writes down, and as many as constants can look at in time.
const MAX_FIELDS: usize = 64 * WORDS;
const WORDS: usize = 16;

/// The chosen fields in the order of their offsets, without those that have no bytes.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    fields: &'a [LayoutField<'a>],
    /// Which fields were chosen, by index.
    bits: [u64; WORDS],
    in_order: bool,
}

impl<'a> Chosen<'a> {
    pub(super) const fn new(fields: &'a [LayoutField<'a>], choice: Choice<'_>) -> Self {
        assert!(fields.len() <= MAX_FIELDS, "a layout map has at most 1024 fields");
        let (mut bits, mut in_order) = ([0; WORDS], true);
        let mut at = 0;
        while at < fields.len() {
            if fields[at].size > 0 && choice.has(&fields[at]) {
                bits[at / 64] |= 1 << (at % 64);
            }
            in_order &= at == 0 || fields[at - 1].offset <= fields[at].offset;
            at += 1;
        }
        Self { fields, bits, in_order }
    }

    pub(super) const fn is_chosen(&self, at: usize) -> bool {
        self.bits[at / 64] >> (at % 64) & 1 == 1
    }

    /// The index of the chosen field that follows the one at `before` (the first for `None`).
    pub(super) const fn next(&self, before: Option<usize>) -> Option<usize> {
        let mut best: Option<usize> = None;
        let mut at = match before {
            Some(before) if self.in_order => before + 1,
            _ => 0,
        };
        while at < self.fields.len() {
            let is_later = match before {
                Some(before) => self.is_before(before, at),
                None => true,
            };
            let is_nearer = match best {
                Some(best) => self.is_before(at, best),
                None => true,
            };
            if self.is_chosen(at) && is_later && is_nearer {
                best = Some(at);
                if self.in_order {
                    break;
                }
            }
            at += 1;
        }
        best
    }

    const fn is_before(&self, one: usize, other: usize) -> bool {
        let (left, right) = (self.fields[one].offset, self.fields[other].offset);
        left < right || (left == right && one < other)
    }

    /// The chosen field that begins first.
    pub(super) const fn first(&self) -> Option<LayoutField<'a>> {
        match self.next(None) {
            Some(at) => Some(self.fields[at]),
            None => None,
        }
    }

    /// The chosen field that ends last.
    pub(super) const fn last(&self) -> Option<LayoutField<'a>> {
        let mut best: Option<LayoutField<'a>> = None;
        let mut at = 0;
        while at < self.fields.len() {
            let is_farther = match best {
                Some(best) => self.fields[at].end() > best.end(),
                None => true,
            };
            if self.is_chosen(at) && is_farther {
                best = Some(self.fields[at]);
            }
            at += 1;
        }
        best
    }

    /// How many lines hold them if the struct begins `base` bytes behind the start of one.
    pub(super) const fn lines(&self, line: usize, base: usize) -> usize {
        let (mut count, mut free) = (0, 0);
        let mut next = self.next(None);
        while let Some(at) = next {
            let (first, last) = span(&self.fields[at], line, base);
            let first = if first < free { free } else { first };
            if first <= last {
                count += last - first + 1;
                free = last + 1;
            }
            next = self.next(Some(at));
        }
        count
    }
}

/// The first and the last line of a field with bytes.
pub(super) const fn span(field: &LayoutField<'_>, line: usize, base: usize) -> (usize, usize) {
    ((base + field.offset) / line, (base + field.end() - 1) / line)
}

impl<'a> Layout<'a> {
    pub(super) const fn choose(&self, choice: Choice<'_>) -> Chosen<'a> {
        Chosen::new(self.fields, choice)
    }

    /// The largest number of lines that any place of the struct gives.
    pub(super) const fn most_lines(&self, chosen: &Chosen<'_>) -> usize {
        let (mut most, mut base) = (0, 0);
        while base < self.line {
            let lines = chosen.lines(self.line, base);
            most = if lines > most { lines } else { most };
            base += self.step();
        }
        most
    }

    /// How far one place where the struct may begin lies behind the other, within a line.
    pub(super) const fn step(&self) -> usize {
        if self.align == 0 { 1 } else { self.align }
    }

    /// The lines that the named fields lie on.
    ///
    /// Complexity: fields times names.
    ///
    /// # Errors
    ///
    /// If the map has no field of one of the names.
    ///
    /// ```
    /// use corelocal::cacheline_struct;
    ///
    /// cacheline_struct! {
    ///     #[derive(Default)]
    ///     #[repr(align(64))]
    ///     struct Queue { running: u32, name: [u64; 16], weight: u64 }
    /// }
    /// let map = Queue::LAYOUT.with_line(64);
    /// let lines = map.lines_of(&["running", "weight"])?;
    /// assert_eq!((lines.count(), lines.to_string().as_str()), (2, "{0, 2}"));
    ///
    /// let error = map.lines_of(&["wait"]).unwrap_err();
    /// assert_eq!(error.to_string(), "Queue has no field `wait`");
    /// # Ok::<(), corelocal::cacheline::UnknownField<'_>>(())
    /// ```
    pub fn lines_of<'n>(&self, names: &[&'n str]) -> Result<LineSet<'a>, UnknownField<'n>>
    where
        'a: 'n,
    {
        match names.iter().find(|name| self.index_of(name).is_none()) {
            Some(name) => Err(UnknownField { structure: self.name, name }),
            None => Ok(LineSet::new(self, Choice::Named(names))),
        }
    }

    /// The lines that a group's members lie on; none if there is no such group.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// cacheline_struct! {
    ///     #[repr(align(64))]
    ///     struct Queue { name: [u64; 9], group hot { running: u32, weight: u64 } }
    /// }
    /// let lines = Queue::LAYOUT.with_line(64).lines_of_group("hot");
    /// assert_eq!(lines.to_string(), "{1}");
    /// # let _ = |queue: Queue| (queue.running, queue.name, queue.weight);
    /// ```
    pub fn lines_of_group(&self, group: &str) -> LineSet<'a> {
        LineSet::new(self, Choice::Group(group))
    }

    /// The lines that an operation touches; fields that this build does not have count nothing.
    ///
    /// ```
    /// # use corelocal::cacheline_struct;
    /// use corelocal::cacheline::{Access, Touch};
    ///
    /// cacheline_struct! {
    ///     #[repr(align(64))]
    ///     struct Queue { running: u32, name: [u64; 9], weight: u64 }
    /// }
    /// // An operation that the struct does not know of.
    /// const WAKE: Access<'_> =
    ///     Access::new("wake", &[Touch::write("running"), Touch::read("weight")]);
    /// assert_eq!(Queue::LAYOUT.with_line(64).lines_of_access(&WAKE).count(), 2);
    /// # let _ = |queue: Queue| (queue.running, queue.name, queue.weight);
    /// ```
    pub fn lines_of_access(&self, access: &Access<'_>) -> LineSet<'a> {
        LineSet::new(self, Choice::Touched(access.touches))
    }
}

/// A set of lines, made by [`Layout::lines_of`].
///
/// ```
/// # use corelocal::cacheline_struct;
/// cacheline_struct! {
///     #[repr(align(64))]
///     struct Queue {
///         group readers { limit: u64, name: [u64; 8] }
///         group writers { running: u32 }
///     }
/// }
/// let map = Queue::LAYOUT.with_line(64);
/// let (read, written) = (map.lines_of_group("readers"), map.lines_of_group("writers"));
/// let shared: Vec<usize> = read.iter().filter(|line| written.contains(*line)).collect();
/// assert_eq!(shared, [1], "readers {read}, writers {written}");
/// # let _ = |queue: Queue| (queue.running, queue.name, queue.limit);
/// ```
#[derive(Clone, Copy)]
pub struct LineSet<'a> {
    chosen: Chosen<'a>,
    line: usize,
    most: usize,
}

impl<'a> LineSet<'a> {
    fn new(layout: &Layout<'a>, choice: Choice<'_>) -> Self {
        let chosen = layout.choose(choice);
        Self { chosen, line: layout.line, most: layout.most_lines(&chosen) }
    }

    /// How many lines. Where the struct is aligned to less than a line, the largest number that
    /// any place of it gives: it may be larger than the number of [`lines`](Self::iter) counted
    /// from the struct's first byte.
    ///
    /// ```
    /// use corelocal::cacheline::{Layout, LayoutField};
    ///
    /// // Aligned to 8, the two may lie on one line, or the end of one and the start of the next.
    /// let fields = [LayoutField::new("a", 0, 8, 8), LayoutField::new("b", 8, 8, 8)];
    /// let pair = Layout::new("Pair", 16, 8, &fields, &[], &[]).with_line(64);
    /// let lines = pair.lines_of(&["a", "b"]).unwrap();
    /// assert_eq!((lines.count(), lines.iter().count()), (2, 1));
    /// ```
    pub fn count(&self) -> usize {
        self.most
    }

    /// The lines in ascending order, counted from the struct's first byte.
    ///
    /// ```
    /// use corelocal::cacheline::{Layout, LayoutField};
    ///
    /// let fields = [LayoutField::new("a", 0, 8, 8), LayoutField::new("b", 120, 16, 8)];
    /// let map = Layout::new("S", 192, 64, &fields, &[], &[]).with_line(64);
    /// // What to prefetch before the fields are used.
    /// let lines = map.lines_of(&["a", "b"]).unwrap();
    /// let offsets: Vec<usize> = lines.iter().map(|line| line * map.line()).collect();
    /// assert_eq!(offsets, [0, 64, 128]);
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = usize> + 'a {
        let (chosen, line) = (self.chosen, self.line);
        core::iter::successors(chosen.next(None), move |&at| chosen.next(Some(at)))
            .scan(0, move |free, at| {
                let (first, last) = span(&chosen.fields[at], line, 0);
                let range = first.max(*free)..last + 1;
                *free = range.end.max(*free);
                Some(range)
            })
            .flatten()
    }

    /// Whether the set has this line.
    ///
    /// ```
    /// use corelocal::cacheline::{Layout, LayoutField};
    ///
    /// let fields = [LayoutField::new("lock", 0, 4, 4), LayoutField::new("data", 64, 64, 8)];
    /// let map = Layout::new("S", 128, 64, &fields, &[], &[]).with_line(64);
    /// let lock = map.lines_of(&["lock"]).unwrap();
    /// assert!(map.lines_of(&["data"]).unwrap().iter().all(|line| !lock.contains(line)));
    /// ```
    pub fn contains(&self, line: usize) -> bool {
        self.iter().any(|own| own == line)
    }
}

/// `{0, 5}`.
impl fmt::Display for LineSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, line) in self.iter().enumerate() {
            write!(f, "{}{line}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for LineSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LineSet {self}")
    }
}

/// A name that is no field of the map.
///
/// ```
/// use corelocal::cacheline::{Layout, LayoutField};
///
/// let fields = [LayoutField::new("running", 0, 4, 4)];
/// let map = Layout::new("Queue", 4, 4, &fields, &[], &[]);
/// let error = map.lines_of(&["runing"]).unwrap_err();
/// assert_eq!(error.to_string(), "Queue has no field `runing`");
/// assert!(map.field("running").is_some()); // ask so first, where a name comes from outside
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownField<'a> {
    structure: &'a str,
    name: &'a str,
}

impl<'a> UnknownField<'a> {
    /// The name.
    ///
    /// ```
    /// # use corelocal::cacheline::{Layout, LayoutField};
    /// # let fields = [LayoutField::new("running", 0, 4, 4), LayoutField::new("weight", 8, 8, 8)];
    /// let map = Layout::new("Queue", 16, 8, &fields, &[], &[]);
    /// // Leaves out what this version of the struct does not have.
    /// let mut names = vec!["running", "throttled", "weight"];
    /// let lines = loop {
    ///     match map.lines_of(&names) {
    ///         Ok(lines) => break lines,
    ///         Err(missing) => names.retain(|name| *name != missing.name()),
    ///     }
    /// };
    /// assert!(lines.count() >= 1 && names == ["running", "weight"]);
    /// ```
    pub fn name(&self) -> &'a str {
        self.name
    }
}

impl fmt::Display for UnknownField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no field `{}`", self.structure, self.name)
    }
}

impl core::error::Error for UnknownField<'_> {}
