//! The parts of an order: what lies on the same lines, and what that is good for.

use crate::place::{Placed, Plan};
use crate::{By, Problem};

/// What a part's fields have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Some are written, and more than one CPU touches them.
    Written,
    /// None is written.
    ReadMostly,
    /// One CPU uses them.
    Hot,
    /// No operation touches them.
    Cold,
}

/// Fields that begin on a line together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// A name that no other part has.
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) fields: Vec<usize>,
    /// Whether a line has to be forced to begin.
    pub(crate) aligned: bool,
    pub(crate) lines: usize,
}

impl Role {
    fn of(problem: &Problem, fields: &[usize]) -> Self {
        let users = || {
            problem.operations.iter().filter_map(|o| {
                let own: Vec<_> = o.touches.iter().filter(|t| fields.contains(&t.field)).collect();
                (!own.is_empty()).then(|| (o.by, own.iter().any(|touch| touch.written)))
            })
        };
        let is_by = |by: By| users().any(|user| user.0 == by);
        let is_shared = problem.cpus > 1
            && (is_by(By::All) || is_by(By::Others) && (is_by(By::Owner) || problem.cpus > 2));
        match (users().next().is_some(), users().any(|user| user.1)) {
            (false, _) => Self::Cold,
            (true, false) => Self::ReadMostly,
            (true, true) if is_shared => Self::Written,
            (true, true) => Self::Hot,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::ReadMostly => "read_mostly",
            Self::Hot => "hot",
            Self::Cold => "cold",
        }
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Written => "Some are written, and more than one CPU uses them.",
            Self::ReadMostly => "Only read by the operations below.",
            Self::Hot => "Used by one CPU.",
            Self::Cold => "No operation below touches these.",
        }
    }
}

/// Cuts an order where a field begins exactly on a line. Where the struct may begin in the middle of
/// one, there is nothing to cut.
pub(crate) fn parts(problem: &Problem, plan: &Plan, placed: &Placed) -> Vec<Part> {
    if !placed.begins_on_a_line(problem.line) {
        return Vec::new();
    }
    let mut cut: Vec<(bool, Vec<usize>)> = Vec::new();
    let mut end = 0;
    for (&field, &aligned) in plan.order.iter().zip(&plan.breaks) {
        let (offset, size) = (placed.offsets[field], problem.fields[field].size);
        // A field without bytes begins no line: the next may not fit behind it.
        let begins = size > 0 && offset % problem.line == 0 && offset >= end;
        match cut.last_mut() {
            Some((_, fields)) if !begins && !aligned => fields.push(field),
            _ => cut.push((aligned, vec![field])),
        }
        end = offset + size;
    }
    let mut parts: Vec<Part> = Vec::new();
    for (aligned, fields) in cut {
        let role = Role::of(problem, &fields);
        let alike = parts.iter().filter(|part| part.role == role).count();
        let number = if alike == 0 { String::new() } else { (alike + 1).to_string() };
        let (first, last) = (placed.offsets[fields[0]], fields[fields.len() - 1]);
        let bytes = placed.offsets[last] + problem.fields[last].size - first;
        let (name, lines) = (format!("{}{number}", role.name()), bytes.div_ceil(problem.line));
        parts.push(Part { name, role, fields, aligned, lines: lines.max(1) });
    }
    parts
}
