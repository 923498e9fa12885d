//! An order, and where it puts the bytes.

use crate::Problem;

/// An order of the fields, and where lines are forced to begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// The fields, as places in [`Problem::fields`].
    pub(crate) order: Vec<usize>,
    /// Whether a line begins before the field of `order` at the same place.
    pub(crate) breaks: Vec<bool>,
    /// The alignment that the struct has at least.
    pub(crate) align: usize,
}

/// Where the rules of `repr(C)` put the fields of a [`Plan`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Placed {
    /// The offset of each field, by its place in [`Problem::fields`].
    pub(crate) offsets: Vec<usize>,
    pub(crate) size: usize,
    pub(crate) align: usize,
}

impl Plan {
    /// The order that there is.
    pub(crate) fn given(problem: &Problem) -> Self {
        let breaks = problem.fields.iter().map(|field| field.on_line).collect();
        Self { order: (0..problem.fields.len()).collect(), breaks, align: problem.align }
    }

    pub(crate) fn place(&self, problem: &Problem) -> Placed {
        let mut offsets = vec![0; problem.fields.len()];
        let (mut end, mut align) = (0usize, self.align.max(1));
        for (&field, &is_broken) in self.order.iter().zip(&self.breaks) {
            let own = &problem.fields[field];
            if is_broken {
                end = end.next_multiple_of(problem.line.max(1));
                align = align.max(problem.line);
            }
            end = end.next_multiple_of(own.align.max(1));
            align = align.max(own.align);
            offsets[field] = end;
            end += own.size;
        }
        Placed { offsets, size: end.next_multiple_of(align), align }
    }

    /// Forgets the breaks where a line begins anyway.
    pub(crate) fn drop_idle_breaks(&mut self, problem: &Problem) {
        let placed = self.place(problem);
        self.align = self.align.max(if self.breaks.contains(&true) { problem.line } else { 1 });
        for at in 0..self.breaks.len() {
            if core::mem::replace(&mut self.breaks[at], false) {
                self.breaks[at] = self.place(problem) != placed;
            }
        }
    }
}

impl Placed {
    /// Whether every struct begins on a line.
    pub(crate) fn begins_on_a_line(&self, line: usize) -> bool {
        self.align >= line
    }
}
