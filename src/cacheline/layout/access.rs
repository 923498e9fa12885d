//! Operations, and the fields that they touch.

use super::Limit;

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
