//! The checks: whether what is promised of a map holds.

use super::lines::{Choice, Chosen, span};
use super::{Access, Broken, BrokenKind, Group, Layout, LayoutField, Limit, Rule, has, same};

impl<'a> Layout<'a> {
    /// The first promise that does not hold, if any.
    ///
    /// The compiler does the same for `T::LAYOUT`. At run time it answers what a machine with other
    /// lines would make of it, and serves maps that a tool put together. A promise about a field
    /// that this build does not have holds.
    ///
    /// ```
    /// use corelocal::cacheline_struct;
    ///
    /// cacheline_struct! {
    ///     #[repr(align(1024))]
    ///     struct Queue {
    ///         group hot(lines <= 1) { running: u32 }
    ///         name: [u64; 63],
    ///         group cold(apart(hot)) { created: [u64; 8] }
    ///     }
    /// }
    /// # let _ = |queue: Queue| (queue.running, queue.name, queue.created);
    /// assert_eq!(Queue::LAYOUT.with_line(512).broken(), None);
    /// let broken = Queue::LAYOUT.with_line(1024).broken().unwrap();
    /// assert_eq!(
    ///     broken.to_string(),
    ///     "Queue: group cold: member created (offset 512, size 64) shares a line with running \
    ///      (offset 0, size 4); limit: no common line of 1024 bytes with group hot",
    /// );
    /// ```
    pub const fn broken(&self) -> Option<Broken<'a>> {
        let mut at = 0;
        while at < self.groups.len() {
            let group = &self.groups[at];
            let chosen = self.choose(Choice::Group(group.name));
            let mut rule = 0;
            while rule < group.rules.len() {
                if let Some((field, kind)) = self.check_rule(group, &chosen, &group.rules[rule]) {
                    return Some(self.breaks(group.name, false, field, kind));
                }
                rule += 1;
            }
            at += 1;
        }
        at = 0;
        while at < self.accesses.len() {
            if let Some((field, kind)) = self.check_access(&self.accesses[at]) {
                return Some(self.breaks(self.accesses[at].name, true, field, kind));
            }
            at += 1;
        }
        None
    }

    const fn check_rule(
        &self,
        group: &Group<'a>,
        chosen: &Chosen<'a>,
        rule: &Rule<'a>,
    ) -> Option<(Option<LayoutField<'a>>, BrokenKind<'a>)> {
        let (first, last) = match (chosen.first(), chosen.last()) {
            (Some(first), Some(last)) => (first, last),
            // Whatever is promised of no bytes holds.
            _ => return self.check_names(group, rule),
        };
        let found = match *rule {
            Rule::Lines(limit) => return self.check_lines(chosen, limit),
            Rule::Bytes(limit) => {
                let found = last.end() - first.offset;
                if limit.allows(found) {
                    return None;
                }
                (last, BrokenKind::Bytes { found, limit })
            }
            Rule::AlignedIf(bytes) if bytes != self.line => return None,
            Rule::Aligned | Rule::AlignedIf(_) => {
                if first.offset % self.line == 0 && self.begins_on_a_line() {
                    return None;
                }
                (first, BrokenKind::NotAligned)
            }
            Rule::Exclusive => match self.shares(chosen, None) {
                Some((field, Some(with))) => (field, BrokenKind::Shared { with }),
                Some((field, None)) => (field, BrokenKind::Beside),
                None => return None,
            },
            Rule::Apart(other) => match self.shares(chosen, Some(other)) {
                Some((field, Some(with))) => (field, BrokenKind::Shared { with }),
                _ => return self.check_names(group, rule),
            },
            Rule::Within(from, to) => match (self.field(from), self.field(to)) {
                (Some(from), Some(to)) if first.offset < from.offset => {
                    (first, BrokenKind::Outside { first: from, last: to })
                }
                (Some(from), Some(to)) if last.end() > to.end() => {
                    (last, BrokenKind::Outside { first: from, last: to })
                }
                _ => return self.check_names(group, rule),
            },
            Rule::Holds(_) => return self.check_names(group, rule),
        };
        Some((Some(found.0), found.1))
    }

    /// The names in a rule: they must be there, and be what the rule says they are.
    const fn check_names(
        &self,
        group: &Group<'a>,
        rule: &Rule<'a>,
    ) -> Option<(Option<LayoutField<'a>>, BrokenKind<'a>)> {
        match *rule {
            Rule::Apart(name) => {
                let mut at = 0;
                while at < self.groups.len() {
                    if same(self.groups[at].name, name) {
                        return None;
                    }
                    at += 1;
                }
                Some((None, BrokenKind::NoGroup { name }))
            }
            Rule::Holds(names) => {
                let mut at = 0;
                while at < names.len() {
                    match self.field(names[at]) {
                        Some(field) if field.is_in(group.name) => {}
                        Some(field) => {
                            return Some((Some(field), BrokenKind::NotHeld { name: names[at] }));
                        }
                        None if has(self.declared, names[at]) => {}
                        None => return Some((None, BrokenKind::NoField { name: names[at] })),
                    }
                    at += 1;
                }
                None
            }
            Rule::Within(first, last) => match (self.knows(first), self.knows(last)) {
                (true, true) => None,
                (false, _) => Some((None, BrokenKind::NoField { name: first })),
                (_, false) => Some((None, BrokenKind::NoField { name: last })),
            },
            _ => None,
        }
    }

    /// Whether a group or an operation may use this name.
    const fn knows(&self, name: &str) -> bool {
        self.index_of(name).is_some() || has(self.declared, name)
    }

    const fn check_lines(
        &self,
        chosen: &Chosen<'a>,
        limit: Limit,
    ) -> Option<(Option<LayoutField<'a>>, BrokenKind<'a>)> {
        let found = self.most_lines(chosen);
        if limit.allows(found) {
            return None;
        }
        let by_alignment = limit.allows(chosen.lines(self.line, 0));
        Some((chosen.last(), BrokenKind::Lines { found, by_alignment, limit }))
    }

    const fn check_access(
        &self,
        access: &Access<'a>,
    ) -> Option<(Option<LayoutField<'a>>, BrokenKind<'a>)> {
        let mut at = 0;
        while at < access.touches.len() {
            let name = access.touches[at].field;
            if !self.knows(name) {
                return Some((None, BrokenKind::NoField { name }));
            }
            at += 1;
        }
        match access.lines {
            Some(limit) => self.check_lines(&self.choose(Choice::Touched(access.touches)), limit),
            None => None,
        }
    }

    /// A member that shares a line with a field it should not, which is of the group `other` or of
    /// no matter which; `(member, None)` where it is something beside the struct.
    const fn shares(
        &self,
        chosen: &Chosen<'a>,
        other: Option<&str>,
    ) -> Option<(LayoutField<'a>, Option<LayoutField<'a>>)> {
        let foreign = match other {
            Some(other) => self.choose(Choice::Group(other)),
            None => *chosen,
        };
        let mut base = 0;
        while base < self.line {
            let mut member = chosen.next(None);
            while let Some(at) = member {
                let field = &self.fields[at];
                let (first, last) = span(field, self.line, base);
                let mut with = 0;
                while with < self.fields.len() {
                    let is_foreign = foreign.is_chosen(with) == other.is_some();
                    if is_foreign && with != at && self.fields[with].size > 0 {
                        let (start, end) = span(&self.fields[with], self.line, base);
                        if start <= last && first <= end {
                            return Some((*field, Some(self.fields[with])));
                        }
                    }
                    with += 1;
                }
                let end = base + self.size;
                let before = first == 0 && base > 0;
                let after = last == (end - 1) / self.line && end % self.line != 0;
                if other.is_none() && (before || after) {
                    return Some((*field, None));
                }
                member = chosen.next(Some(at));
            }
            base += self.step();
        }
        None
    }

    /// Fails the build where a promise does not hold. Off under loom: its atomics are larger.
    #[doc(hidden)]
    pub const fn __check(&self) {
        if cfg!(corelocal_loom) {
            return;
        }
        if let Some(broken) = self.broken() {
            panic!("{}", broken.message().as_str());
        }
    }
}
