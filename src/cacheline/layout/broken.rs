//! What to say of a promise that does not hold.

use core::fmt;

use super::message::Message;
use super::{Layout, LayoutField, Limit};

/// A promise that does not hold: printed, it names struct, group, member, offset, size and limit.
///
/// ```
/// use corelocal::cacheline::{Group, Layout, LayoutField, Limit, Rule};
///
/// // What a machine with lines of 64 bytes makes of a map that a tool has read somewhere.
/// let fields = ["head", "tail"].map(|name| {
///     LayoutField::new(name, if name == "head" { 0 } else { 64 }, 8, 8).in_group("ends")
/// });
/// let groups = [Group::new("ends", &[Rule::Lines(Limit::AtMost(1))])];
/// let map = Layout::new("Ring", 128, 64, &fields, &groups, &[]).with_line(64);
/// let broken = map.broken().expect("the ends are far apart");
/// assert!(broken.to_string().starts_with("Ring: group ends"), "{broken}");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken<'a> {
    structure: &'a str,
    /// The group or the operation.
    of: &'a str,
    of_access: bool,
    /// The field that is to blame.
    field: Option<LayoutField<'a>>,
    line: usize,
    align: usize,
    kind: BrokenKind<'a>,
}

/// What it is that does not hold.
///
/// ```
/// use corelocal::cacheline::{BrokenKind, Group, Layout, LayoutField, Limit, Rule};
///
/// let fields = [LayoutField::new("key", 0, 80, 8).in_group("hot")];
/// let groups = [Group::new("hot", &[Rule::Bytes(Limit::AtMost(64))])];
/// let map = Layout::new("Entry", 80, 8, &fields, &groups, &[]);
/// let kind = map.broken().map(|broken| broken.kind());
/// assert_eq!(kind, Some(BrokenKind::Bytes { found: 80, limit: Limit::AtMost(64) }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BrokenKind<'a> {
    /// Members lie on another number of lines than the limit says.
    Lines {
        /// How many lines.
        found: usize,
        /// Whether only because the struct may begin in the middle of a line.
        by_alignment: bool,
        /// The promise.
        limit: Limit,
    },
    /// The group has another number of bytes than the limit says.
    Bytes {
        /// How many bytes.
        found: usize,
        /// The promise.
        limit: Limit,
    },
    /// The group does not begin on a line.
    NotAligned,
    /// A field that should not share a line with this one does.
    Shared {
        /// The other field.
        with: LayoutField<'a>,
    },
    /// What lies beside the struct may share a line with this member.
    Beside,
    /// The field is not a member.
    NotHeld {
        /// The field's name.
        name: &'a str,
    },
    /// The member does not lie between these two fields.
    Outside {
        /// The first field.
        first: LayoutField<'a>,
        /// The last field.
        last: LayoutField<'a>,
    },
    /// There is no such field.
    NoField {
        /// Its name.
        name: &'a str,
    },
    /// There is no such group.
    NoGroup {
        /// Its name.
        name: &'a str,
    },
}

impl<'a> Layout<'a> {
    pub(super) const fn breaks(
        &self,
        of: &'a str,
        of_access: bool,
        field: Option<LayoutField<'a>>,
        kind: BrokenKind<'a>,
    ) -> Broken<'a> {
        let (structure, line, align) = (self.name, self.line, self.align);
        Broken { structure, of, of_access, field, line, align, kind }
    }
}

impl<'a> Broken<'a> {
    /// The struct's name.
    ///
    /// ```
    /// # use corelocal::cacheline::{Group, Layout, LayoutField, Rule};
    /// # let fields = [LayoutField::new("key", 8, 8, 8).in_group("hot")];
    /// # let groups = [Group::new("hot", &[Rule::Aligned])];
    /// let maps = ["Entry", "Node"].map(|name| Layout::new(name, 16, 64, &fields, &groups, &[]));
    /// let faulty: Vec<_> = maps.iter().filter_map(|map| map.broken()).map(|b| b.structure()).collect();
    /// assert_eq!(faulty, ["Entry", "Node"]);
    /// ```
    pub const fn structure(&self) -> &'a str {
        self.structure
    }

    /// The name of the group, or of the operation.
    ///
    /// ```
    /// # use corelocal::cacheline::{Access, Layout, LayoutField, Limit, Touch};
    /// # let fields = [LayoutField::new("a", 0, 8, 8), LayoutField::new("b", 64, 8, 8)];
    /// const PUSH: Access<'_> =
    ///     Access::new("push", &[Touch::read("a"), Touch::write("b")]).in_lines(Limit::AtMost(1));
    /// let map = Layout::new("Queue", 128, 64, &fields, &[], &[PUSH]).with_line(64);
    /// assert_eq!(map.broken().unwrap().of(), "push");
    /// ```
    pub const fn of(&self) -> &'a str {
        self.of
    }

    /// The field that is to blame, where it is one.
    ///
    /// ```
    /// # use corelocal::cacheline::{Group, Layout, LayoutField, Rule};
    /// # let fields = [LayoutField::new("key", 8, 8, 8).in_group("hot")];
    /// # let groups = [Group::new("hot", &[Rule::Aligned])];
    /// let map = Layout::new("Entry", 64, 64, &fields, &groups, &[]);
    /// let to_blame = map.broken().and_then(|broken| broken.field()).unwrap();
    /// assert_eq!((to_blame.name, to_blame.offset), ("key", 8));
    /// ```
    pub const fn field(&self) -> Option<LayoutField<'a>> {
        self.field
    }

    /// What it is that does not hold.
    ///
    /// ```
    /// # use corelocal::cacheline::{BrokenKind, Group, Layout, LayoutField, Rule};
    /// # let fields = [LayoutField::new("key", 0, 8, 8).in_group("hot")];
    /// let groups = [Group::new("hot", &[Rule::Holds(&["key", "hash"])])];
    /// let map = Layout::new("Entry", 64, 64, &fields, &groups, &[]).declaring(&["hash"]);
    /// assert_eq!(map.broken(), None); // a field that this build does not have
    /// let map = Layout::new("Entry", 64, 64, &fields, &groups, &[]);
    /// assert_eq!(map.broken().unwrap().kind(), BrokenKind::NoField { name: "hash" });
    /// ```
    pub const fn kind(&self) -> BrokenKind<'a> {
        self.kind
    }

    pub(super) const fn message(&self) -> Message {
        let head = if self.of_access { ": touches " } else { ": group " };
        let m = Message::new().text(self.structure).text(head).text(self.of).text(": ");
        match self.kind {
            BrokenKind::Lines { found, by_alignment, limit } => {
                let m = m.count(found, "line").text(" of ").count(self.line, "byte");
                let m = self.blamed(limited(m, limit).text("; the last is that of "));
                if !by_alignment {
                    return m;
                }
                let m = m.text("; the struct is aligned to ").count(self.align, "byte");
                m.text(" only, so it may begin in the middle of a line")
            }
            BrokenKind::Bytes { found, limit } => {
                let m = limited(m.count(found, "byte"), limit);
                self.blamed(m.text("; the last are those of "))
            }
            BrokenKind::NotAligned => {
                let m = self.blamed(m).text(" does not begin on a line; limit: offset a multiple");
                let m = m.text(" of ").number(self.line).text(", as the struct's alignment, ");
                m.number(self.align)
            }
            BrokenKind::Shared { with } => {
                let m = described(self.blamed(m).text(" shares a line with "), with);
                let m = m.text("; limit: no common line of ").number(self.line).text(" bytes");
                match with.group {
                    Some(group) => m.text(" with group ").text(group),
                    None => m,
                }
            }
            BrokenKind::Beside => {
                let m = self.blamed(m).text(" may share a line with what lies beside the struct");
                let m = m.text(", which is aligned to ").count(self.align, "byte").text(" only");
                m.text("; limit: lines of ").number(self.line).text(" bytes to itself")
            }
            BrokenKind::NotHeld { name } => {
                self.blamed(m).text(" is no member; limit: holds(").text(name).text(")")
            }
            BrokenKind::Outside { first, last } => {
                let m = self.blamed(m).text(" does not lie within the limit, from ");
                described(described(m, first).text(" to "), last)
            }
            BrokenKind::NoField { name } => m.text("there is no field ").text(name),
            BrokenKind::NoGroup { name } => m.text("there is no group ").text(name),
        }
    }

    /// Adds the field that is to blame.
    const fn blamed(&self, m: Message) -> Message {
        match self.field {
            Some(field) => {
                let m = m.text(if self.of_access { "field " } else { "member " });
                match field.group {
                    Some(group) if self.of_access => {
                        described(m, field).text(" of group ").text(group)
                    }
                    _ => described(m, field),
                }
            }
            None => m,
        }
    }
}

const fn limited(m: Message, limit: Limit) -> Message {
    match limit {
        Limit::AtMost(number) => m.text(", limit ").number(number),
        Limit::Exactly(number) => m.text(", limit exactly ").number(number),
    }
}

const fn described(m: Message, field: LayoutField<'_>) -> Message {
    let m = m.text(field.name).text(" (offset ").number(field.offset);
    m.text(", size ").number(field.size).text(")")
}

impl fmt::Display for Broken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().as_str())
    }
}

impl core::error::Error for Broken<'_> {}
