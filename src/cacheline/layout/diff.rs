//! What changed from one map to another.

use core::fmt;

use super::text::{Counted, Lines};
use super::{Access, Layout, LayoutField, same};

/// What changed between two maps, made by [`Layout::diff`]; printed, it lists the fields that
/// moved, came or went, and the lines that each operation touched and touches.
///
/// ```
/// use corelocal::cacheline::{Layout, LayoutField};
///
/// let old = [LayoutField::new("head", 0, 8, 8), LayoutField::new("tail", 8, 8, 8)];
/// let new = [LayoutField::new("head", 0, 8, 8), LayoutField::new("tail", 64, 8, 8)];
/// let old = Layout::new("Ring", 16, 64, &old, &[], &[]);
/// let new = Layout::new("Ring", 128, 64, &new, &[], &[]);
/// let diff = new.diff(&old);
/// println!("{diff}"); // for the review of a change
/// assert_eq!(diff.fields().count(), 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diff<'d> {
    before: &'d Layout<'d>,
    after: &'d Layout<'d>,
}

impl<'d> Diff<'d> {
    pub(super) const fn new(before: &'d Layout<'d>, after: &'d Layout<'d>) -> Self {
        Self { before, after }
    }

    /// Each field that is not where it was, or not what it was: before and after. Fields are the
    /// same if their names are. Those of the second map come first.
    ///
    /// ```
    /// # use corelocal::cacheline::{Layout, LayoutField};
    /// let old = [LayoutField::new("head", 0, 8, 8), LayoutField::new("name", 8, 8, 8)];
    /// let new = [LayoutField::new("head", 0, 8, 8), LayoutField::new("tail", 8, 8, 8)];
    /// let (old, new) = (Layout::new("Ring", 16, 8, &old, &[], &[]), Layout::new("Ring", 16, 8, &new, &[], &[]));
    /// let changes: Vec<_> = new.diff(&old).fields()
    ///     .map(|(before, after)| (before.map(|field| field.name), after.map(|field| field.name)))
    ///     .collect();
    /// assert_eq!(changes, [(None, Some("tail")), (Some("name"), None)]);
    /// ```
    pub fn fields(
        &self,
    ) -> impl Iterator<Item = (Option<LayoutField<'d>>, Option<LayoutField<'d>>)> + 'd {
        let Self { before, after } = *self;
        let kept = after.fields().iter().map(|field| (before.field(field.name), Some(*field)));
        let gone = before.fields().iter().filter(|field| after.field(field.name).is_none());
        kept.filter(|(old, new)| old != new).chain(gone.map(|field| (Some(*field), None)))
    }

    /// Each operation that one of the maps knows, with the number of lines that it touched and
    /// touches: the second map's fields are asked for in both, fields that are not there left out.
    ///
    /// ```
    /// # use corelocal::cacheline::{Access, Layout, LayoutField, Touch};
    /// # let old = [LayoutField::new("head", 0, 8, 8), LayoutField::new("tail", 64, 8, 8)];
    /// # let new = [LayoutField::new("head", 0, 8, 8), LayoutField::new("tail", 8, 8, 8)];
    /// const POP: Access<'_> = Access::new("pop", &[Touch::write("head"), Touch::read("tail")]);
    /// let old = Layout::new("Ring", 128, 64, &old, &[], &[POP]).with_line(64);
    /// let new = Layout::new("Ring", 64, 64, &new, &[], &[POP]).with_line(64);
    /// for (operation, before, after) in new.diff(&old).accesses() {
    ///     assert!(after <= before, "{operation} touches {after} lines, not {before}");
    /// }
    /// ```
    pub fn accesses(&self) -> impl Iterator<Item = (&'d str, usize, usize)> + 'd {
        let Self { before, after } = *self;
        accesses(before, after).map(move |access| {
            let lines = |map: &Layout<'_>| map.lines_of_access(access).count();
            (access.name, lines(before), lines(after))
        })
    }
}

/// The operations of `after`, then those that only `before` has.
fn accesses<'d>(
    before: &'d Layout<'d>,
    after: &'d Layout<'d>,
) -> impl Iterator<Item = &'d Access<'d>> + 'd {
    let gone = |access: &&Access<'_>| !after.accesses.iter().any(|a| same(a.name, access.name));
    after.accesses.iter().chain(before.accesses.iter().filter(gone))
}

impl fmt::Display for Diff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after } = *self;
        let size = |map: &Layout<'_>| (map.size(), map.size() - map.used().min(map.size()));
        let (old, old_gaps) = size(before);
        let (new, new_gaps) = size(after);
        write!(f, "{}", before.name())?;
        if before.name() != after.name() {
            write!(f, " -> {}", after.name())?;
        }
        writeln!(
            f,
            ": {old} bytes on {} -> {new} bytes on {}; {old_gaps} -> {new_gaps} bytes of no field",
            Lines(before.lines()),
            Lines(after.lines()),
        )?;
        self.write_fields(f)?;
        for access in accesses(before, after) {
            let (old, new) = (before.lines_of_access(access), after.lines_of_access(access));
            writeln!(f, "touches {}: {} -> {}", access.name, Counted(&old), Counted(&new))?;
        }
        Ok(())
    }
}

impl Diff<'_> {
    fn write_fields(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.fields().filter_map(|(old, new)| Some(new.or(old)?.name.len()));
        let Some(wide) = names.max() else { return writeln!(f, "no field moved") };
        writeln!(f, "\n  {:wide$}  {:>15}  {:>10}", "field", "offset", "line")?;
        for (old, new) in self.fields() {
            match (old, new) {
                (Some(old), Some(new)) => self.write_moved(f, wide, &old, &new)?,
                (old, new) => {
                    let (sign, map, field) = match (old, new) {
                        (Some(old), _) => ('-', self.before, old),
                        (None, Some(new)) => ('+', self.after, new),
                        (None, None) => continue,
                    };
                    let (offset, line) = (field.offset, field.offset / map.line);
                    writeln!(f, "{sign} {:wide$}  {offset:>15}  {line:>10}", field.name)?;
                }
            }
        }
        writeln!(f)
    }

    fn write_moved(
        &self,
        f: &mut fmt::Formatter<'_>,
        wide: usize,
        old: &LayoutField<'_>,
        new: &LayoutField<'_>,
    ) -> fmt::Result {
        let (from, to) = (old.offset / self.before.line, new.offset / self.after.line);
        write!(f, "  {:wide$}  {:>6} -> {:>5}", new.name, old.offset, new.offset)?;
        match from == to {
            true => write!(f, "  {to:>10}")?,
            false => write!(f, "  {from:>4} -> {to:>2}")?,
        }
        if old.size != new.size {
            write!(f, "  size {} -> {}", old.size, new.size)?;
        }
        if old.group != new.group {
            write!(f, "  {} -> {}", old.group.unwrap_or("(none)"), new.group.unwrap_or("(none)"))?;
        }
        writeln!(f)
    }
}
