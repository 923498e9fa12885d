//! A map as a table.

use core::fmt;

use super::holes::{Gap, GapKind, Gaps};
use super::lines::{Choice, Chosen};
use super::{Layout, LayoutField, LineSet, Rule};

/// Bytes of one kind: what a row of the table and a box of the drawing stand for.
#[derive(Clone, Copy)]
pub(super) enum Row<'a> {
    Field(LayoutField<'a>),
    Gap(Gap),
}

impl Row<'_> {
    pub(super) fn offset(&self) -> usize {
        match self {
            Self::Field(field) => field.offset,
            Self::Gap(gap) => gap.offset,
        }
    }

    pub(super) fn size(&self) -> usize {
        match self {
            Self::Field(field) => field.size,
            Self::Gap(gap) => gap.size,
        }
    }
}

/// Fields and gaps in the order of their offsets.
pub(super) struct Rows<'a> {
    fields: Chosen<'a>,
    layout: Layout<'a>,
    next: Option<usize>,
    gaps: core::iter::Peekable<Gaps<'a>>,
}

impl<'a> Layout<'a> {
    pub(super) fn rows(&self) -> Rows<'a> {
        let fields = self.choose(Choice::All);
        Rows { fields, layout: *self, next: fields.next(None), gaps: self.gaps().peekable() }
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        let field = self.next.map(|at| self.layout.fields[at]);
        let is_first = |gap: &Gap| field.is_none_or(|field| gap.offset < field.offset);
        if let Some(gap) = self.gaps.next_if(is_first) {
            return Some(Row::Gap(gap));
        }
        self.next = self.fields.next(self.next);
        field.map(Row::Field)
    }
}

impl fmt::Display for GapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hole => "hole",
            Self::Padding => "padding",
            Self::Unlisted => "not listed",
        })
    }
}

/// A table of every byte: offset, size, line, group and field, with holes and padding; below it
/// the sums, the groups and the operations.
impl fmt::Display for Layout<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.groups.iter().map(|group| group.name.len());
        let wide = groups.max().unwrap_or(0).max("group".len());
        writeln!(
            f,
            "{}: {} bytes, aligned to {}; {} of {} bytes",
            self.name,
            self.size,
            self.align,
            Lines(self.lines()),
            self.line
        )?;
        writeln!(f, "\noffset  size   line  {:wide$}  field", "group")?;
        let mut line = 0;
        for row in self.rows().filter(|row| row.size() > 0) {
            let (first, last) =
                (row.offset() / self.line, (row.offset() + row.size() - 1) / self.line);
            if first > line {
                writeln!(f, "------ line {first} {:-<1$}", "", 14 + wide)?;
            }
            line = first.max(line).max(last);
            write!(f, "{:>6} {:>5} ", row.offset(), row.size())?;
            let span = Span(first, last);
            match row {
                Row::Field(field) => {
                    let group = field.group.unwrap_or("");
                    writeln!(f, "{span:>6}  {group:wide$}  {}", field.name)?;
                }
                Row::Gap(gap) => writeln!(f, "{span:>6}  {:wide$}  ({})", "", gap.kind)?,
            }
        }
        self.write_sums(f)?;
        self.write_promises(f)
    }
}

impl Layout<'_> {
    fn write_sums(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |kind| {
            let gaps = self.gaps().filter(move |gap| gap.kind == kind);
            gaps.fold((0, 0), |(count, size), gap| (count + 1, size + gap.size))
        };
        write!(f, "\nfields {} bytes", self.used())?;
        let (holes, bytes) = sum(GapKind::Hole);
        if !self.partial {
            let s = if holes == 1 { "" } else { "s" };
            write!(
                f,
                ", {holes} hole{s} {bytes} bytes, padding {} bytes",
                sum(GapKind::Padding).1
            )?;
        } else {
            write!(f, ", not listed {} bytes", sum(GapKind::Unlisted).1)?;
        }
        writeln!(f)?;
        if !self.begins_on_a_line() {
            writeln!(
                f,
                "The struct may begin in the middle of a line; numbers of lines below are the \
                 largest that any place gives.",
            )?;
        }
        Ok(())
    }

    fn write_promises(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for group in self.groups {
            let chosen = self.choose(Choice::Group(group.name));
            let bytes = match (chosen.first(), chosen.last()) {
                (Some(first), Some(last)) => last.end() - first.offset,
                _ => 0,
            };
            let lines = self.lines_of_group(group.name);
            let s = if bytes == 1 { "" } else { "s" };
            write!(f, "group {}: {bytes} byte{s}, {}", group.name, Counted(&lines))?;
            for (at, rule) in group.rules.iter().enumerate() {
                write!(f, "{}{rule}", if at == 0 { "; " } else { ", " })?;
            }
            writeln!(f)?;
        }
        for access in self.accesses {
            let lines = self.lines_of_access(access);
            write!(f, "touches {}: {}", access.name, Counted(&lines))?;
            if let Some(limit) = access.lines {
                write!(f, "; lines {limit}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// As it is written in the macros.
impl fmt::Display for Rule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines(limit) => write!(f, "lines {limit}"),
            Self::Bytes(limit) => write!(f, "bytes {limit}"),
            Self::Aligned => f.write_str("aligned"),
            Self::AlignedIf(bytes) => write!(f, "aligned_if({bytes})"),
            Self::Exclusive => f.write_str("exclusive"),
            Self::Apart(group) => write!(f, "apart({group})"),
            Self::Holds(names) => {
                for (at, name) in names.iter().enumerate() {
                    write!(f, "{}{name}", if at == 0 { "holds(" } else { ", " })?;
                }
                f.write_str(if names.is_empty() { "holds()" } else { ")" })
            }
            Self::Within(first, last) => write!(f, "within({first} ..= {last})"),
        }
    }
}

/// `3` or `3-5`.
struct Span(usize, usize);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == self.1 {
            return fmt::Display::fmt(&self.0, f);
        }
        let width = f.width().unwrap_or(0).saturating_sub(1 + digits(self.1));
        write!(f, "{:>width$}-{}", self.0, self.1)
    }
}

const fn digits(number: usize) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

/// `1 line`, `2 lines`.
pub(super) struct Lines(pub(super) usize);

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// `2 lines {0, 5}`.
pub(super) struct Counted<'l>(pub(super) &'l LineSet<'l>);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Lines(self.0.count()), self.0)
    }
}
