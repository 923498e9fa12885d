//! [`Bins`]: fields put into lines, which line being which left open.

use crate::Problem;
use crate::place::{Placed, Plan};
use crate::set::Set;
use crate::traffic::{Line, Use};
use core::cmp::Reverse;

/// Fields that must not be torn apart: mostly one.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) fields: Vec<usize>,
    pub(crate) size: usize,
    align: usize,
    /// It must be the struct's first.
    is_first: bool,
    /// Lines that it takes if it takes more than one, else 0.
    lines: usize,
    /// What the operations do to it: the same number for the same.
    kind: usize,
}

/// An operation, by units.
struct Sets {
    weight: f64,
    used: Use,
    touches: Set,
    reads: Set,
    writes: Set,
    /// Its units in the order of its touches, and whether they are written.
    order: Vec<(usize, bool)>,
}

/// What does not change while one looks for an order.
pub(crate) struct Space<'p> {
    pub(crate) problem: &'p Problem,
    pub(crate) units: Vec<Unit>,
    operations: Vec<Sets>,
}

/// A small reward for full lines, which leaves the rest to lines that can be spared.
const FULL: f64 = 1e-6;

impl<'p> Space<'p> {
    pub(crate) fn new(problem: &'p Problem) -> Self {
        let mut units: Vec<Unit> =
            problem.units().into_iter().map(|f| Unit::new(problem, f)).collect();
        let weight = problem.weight();
        let operations = problem.operations.iter().map(|operation| {
            let of = |wanted: &dyn Fn(bool) -> bool| -> Set {
                let touches = |unit: &Unit| {
                    let mut own = operation.touches.iter().filter(|t| wanted(t.written));
                    own.any(|touch| unit.fields.contains(&touch.field))
                };
                let touched = units.iter().enumerate().filter(|(_, unit)| touches(unit));
                touched.map(|(at, _)| at).collect()
            };
            let used =
                Use { weight: operation.weight, by: operation.by, reads: false, writes: false };
            let order = operation.touches.iter().filter_map(|touch| {
                let unit = units.iter().position(|unit| unit.fields.contains(&touch.field));
                Some((unit?, touch.written))
            });
            Sets {
                order: order.collect(),
                weight: operation.weight / weight,
                used,
                touches: of(&|_| true),
                reads: of(&|written| !written),
                writes: of(&|written| written),
            }
        });
        let operations: Vec<Sets> = operations.collect();
        let mut kinds: Vec<Vec<(bool, bool)>> = Vec::new();
        for (at, unit) in units.iter_mut().enumerate() {
            let own = Set::from_iter([at]);
            let uses = operations.iter().map(|o| (o.reads.meets(&own), o.writes.meets(&own)));
            let uses: Vec<_> = uses.collect();
            unit.kind = kinds.iter().position(|kind| *kind == uses).unwrap_or(kinds.len());
            kinds.push(uses);
        }
        Self { problem, units, operations }
    }

    /// How often a unit is touched, and how often together with another.
    pub(crate) fn affinity(&self, one: usize, other: usize) -> f64 {
        let (one, other) = (Set::from_iter([one]), Set::from_iter([other]));
        let both =
            self.operations.iter().filter(|o| o.touches.meets(&one) && o.touches.meets(&other));
        both.map(|o| o.weight).sum()
    }

    /// Whether one unit can stand for the other: no operation tells them apart.
    pub(crate) fn are_alike(&self, one: usize, other: usize) -> bool {
        let (a, b) = (&self.units[one], &self.units[other]);
        a.kind == b.kind && (a.size, a.align, a.lines) == (b.size, b.align, b.lines)
    }

    /// The order within a bin: large alignments first, so that there are no holes.
    pub(crate) fn arrange(&self, members: &mut [usize]) {
        members.sort_by_key(|&at| {
            let unit = &self.units[at];
            (!unit.is_first, unit.lines == 0, Reverse(unit.align), at)
        });
    }

    /// Whether these units can share a bin: a line, or the lines of the one unit that takes several.
    pub(crate) fn fits(&self, members: &[usize]) -> bool {
        let wide = |&&at: &&usize| self.units[at].lines > 0;
        let lines = match members.iter().filter(wide).count() {
            0 => 1,
            1 => members.iter().map(|&at| self.units[at].lines).sum(),
            _ => return false,
        };
        let room = lines * self.problem.line;
        let bytes: usize = members.iter().map(|&at| self.units[at].size).sum();
        // Large alignments first leave no holes between sizes that are multiples of them.
        let has_no_holes = |&at: &usize| self.units[at].size % self.units[at].align == 0;
        let no_holes = self.problem.first.is_none() && members.iter().all(has_no_holes);
        bytes <= room && (no_holes || self.end(members) <= room)
    }

    /// Bytes from a bin's start to the end of its last member.
    fn end(&self, members: &[usize]) -> usize {
        let mut members = members.to_vec();
        self.arrange(&mut members);
        let fields = members.iter().flat_map(|&at| &self.units[at].fields);
        fields.fold(0usize, |end, &field| {
            let field = &self.problem.fields[field];
            end.next_multiple_of(field.align) + field.size
        })
    }

    /// What a bin adds to the cost of an order.
    pub(crate) fn cost(&self, members: &[usize]) -> f64 {
        if members.is_empty() {
            return 0.0;
        }
        let prices = &self.problem.prices;
        let all: Set = members.iter().copied().collect();
        let wide: Set = members.iter().copied().filter(|&at| self.units[at].lines > 0).collect();
        let bytes: usize = members.iter().map(|&at| self.units[at].size).sum();
        let lines: usize = members.iter().map(|&at| self.units[at].lines).sum();
        let mut line = Line::default();
        let mut users = Vec::with_capacity(self.operations.len());
        for operation in self.operations.iter().filter(|o| o.touches.meets(&all)) {
            let used = operation.used_of(&all);
            line.add(&used);
            users.push((operation, used));
        }
        let mut cost = 0.0;
        for (operation, used) in users {
            let transfers = line.transfers(&used, self.problem.cpus);
            let lines = if operation.touches.meets(&wide) { lines as f64 } else { 1.0 };
            cost += operation.weight * lines * (prices.line + prices.transfer * transfers);
        }
        let fill = bytes as f64 / (lines.max(1) * self.problem.line) as f64;
        cost + prices.memory * lines.max(1) as f64 - FULL * fill * fill
    }

    /// An order of the bins as an order of the fields; each bin begins on a line.
    pub(crate) fn plan(&self, bins: &[Vec<usize>]) -> Plan {
        let mut units = Vec::new();
        for bin in bins.iter().filter(|bin| !bin.is_empty()) {
            let mut members = bin.clone();
            self.arrange(&mut members);
            units.extend(members.iter().enumerate().map(|(at, &unit)| (unit, at == 0)));
        }
        self.plan_of(&units, 1)
    }

    /// The units of an order, and whether a line is forced to begin before each.
    pub(crate) fn units_in(&self, plan: &Plan) -> Vec<(usize, bool)> {
        let begins = |field: usize| self.units.iter().position(|unit| unit.fields[0] == field);
        let fields = plan.order.iter().zip(&plan.breaks);
        fields.filter_map(|(&field, &is)| begins(field).map(|unit| (unit, is))).collect()
    }

    /// The other way round.
    pub(crate) fn plan_of(&self, units: &[(usize, bool)], align: usize) -> Plan {
        let mut plan = Plan { order: Vec::new(), breaks: Vec::new(), align };
        for &(unit, is_broken) in units {
            for (at, &field) in self.units[unit].fields.iter().enumerate() {
                plan.order.push(field);
                plan.breaks.push(is_broken && at == 0);
            }
        }
        plan.drop_idle_breaks(self.problem);
        plan
    }

    pub(crate) fn is_first(&self, bin: &[usize]) -> bool {
        bin.iter().any(|&at| self.units[at].is_first)
    }

    /// How often operations touch a bin.
    pub(crate) fn heat(&self, bin: &[usize]) -> f64 {
        let all: Set = bin.iter().copied().collect();
        self.operations.iter().filter(|o| o.touches.meets(&all)).map(|o| o.weight).sum()
    }
}

impl Sets {
    /// What the operation does to a line of these units.
    fn used_of(&self, units: &Set) -> Use {
        let (reads, writes) = (self.reads.meets(units), self.writes.meets(units));
        let mut used = Use { reads, writes, ..self.used };
        if reads && writes {
            used = self.used;
            let own = self.order.iter().filter(|(unit, _)| units.has(*unit));
            own.for_each(|&(_, written)| used.touch(written));
        }
        used
    }
}

impl Unit {
    fn new(problem: &Problem, fields: Vec<usize>) -> Self {
        let count = fields.len();
        let alone = Plan { order: fields, breaks: vec![false; count], align: 1 };
        let Placed { offsets, align, .. } = alone.place(problem);
        let fields = alone.order;
        let size = fields.last().map_or(0, |&last| offsets[last] + problem.fields[last].size);
        let is_first = problem.first.is_some_and(|first| fields.contains(&first));
        let lines = if size > problem.line { size.div_ceil(problem.line) } else { 0 };
        Self { fields, size, align, is_first, lines, kind: 0 }
    }
}
