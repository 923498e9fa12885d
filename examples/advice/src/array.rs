//! Many structs in a row: three ways to lay them.

use crate::Advice;
use crate::cost::{Run, judge};
use crate::group::parts;
use crate::problem::Operation;
use core::fmt;

/// How an array of a struct can lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayShape {
    /// Structs in the given order.
    Given,
    /// Structs in the advised order.
    Advised,
    /// A struct of arrays: each field's copies in a row, each group's arrays from a line of their
    /// own on.
    Split,
}

/// What a shape costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    /// The shape.
    pub shape: ArrayShape,
    /// Bytes of the whole.
    pub bytes: usize,
    /// Lines of the whole.
    pub lines: usize,
    /// Lines that an average operation on one element touches.
    pub touched: f64,
    /// Transfers that it waits for, if all elements are used alike.
    pub transfers: f64,
    /// All of it by the problem's prices, with the lines of size of one element.
    pub cost: f64,
}

/// More elements than this say nothing new about lines.
const LOOKED_AT: usize = 1024;

impl Advice {
    /// What `elements` structs in a row cost in each shape. An operation works on one element, and
    /// on each as often as on any other.
    pub fn as_array(&self, elements: usize) -> [Shape; 3] {
        let shapes = [ArrayShape::Given, ArrayShape::Advised, ArrayShape::Split];
        shapes.map(|shape| self.shape(shape, elements.max(1)))
    }

    fn shape(&self, shape: ArrayShape, elements: usize) -> Shape {
        let problem = &self.problem;
        let line = problem.line;
        let placed = if shape == ArrayShape::Given { &self.given } else { &self.placed };
        let looked_at = elements.min(LOOKED_AT);
        let (columns, bytes) = match shape {
            ArrayShape::Split => (Some(self.columns(looked_at).0), self.columns(elements).1),
            _ => (None, placed.size * elements),
        };
        let of_element = |element: usize| -> Vec<usize> {
            let fields = problem.fields.iter().enumerate();
            fields
                .map(|(at, field)| match &columns {
                    Some(columns) => columns[at] + element * field.size,
                    None => placed.offsets[at] + element * placed.size,
                })
                .collect()
        };
        let mut runs = Vec::new();
        for element in 0..looked_at {
            let offsets = of_element(element);
            let run = |operation: &Operation| Run::of(operation, problem, &offsets);
            runs.extend(problem.operations.iter().map(run));
        }
        let align = if shape == ArrayShape::Split { line } else { placed.align };
        let found = judge(&runs, line, align, problem.cpus);
        let weight: f64 = runs.iter().map(|run| run.used.weight).sum();
        let average = |of: fn(&(usize, f64, f64)) -> f64| {
            let all = runs.iter().zip(&found);
            all.map(|(run, found)| run.used.weight * of(found)).sum::<f64>() / weight
        };
        let (touched, transfers) = (average(|found| found.1), average(|found| found.2));
        let prices = &problem.prices;
        let memory = bytes as f64 / (line * elements) as f64;
        let cost = prices.line * touched + prices.transfer * transfers + prices.memory * memory;
        Shape { shape, bytes, lines: bytes.div_ceil(line), touched, transfers, cost }
    }

    /// Where each field's array begins in a struct of arrays, and where the last one ends.
    fn columns(&self, elements: usize) -> (Vec<usize>, usize) {
        let problem = &self.problem;
        let (mut columns, mut end) = (vec![0; problem.fields.len()], 0usize);
        let mut groups: Vec<Vec<usize>> =
            parts(problem, &self.plan, &self.placed).into_iter().map(|part| part.fields).collect();
        if groups.is_empty() {
            groups.push(self.plan.order.clone());
        }
        for group in groups {
            end = end.next_multiple_of(problem.line);
            for field in group {
                let own = &problem.fields[field];
                columns[field] = end.next_multiple_of(own.align);
                end = columns[field] + own.size * elements;
            }
        }
        (columns, end)
    }

    /// The shapes as a table.
    pub fn array_table(&self, elements: usize) -> String {
        let mut table = format!(
            "An array of {elements}, all used alike:\n{:8}  {:>9}  {:>6}  {:>7}  {:>9}  {:>6}\n",
            "shape", "bytes", "lines", "touched", "transfers", "cost"
        );
        for shape in self.as_array(elements) {
            table += &format!("{shape}\n");
        }
        table
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.shape {
            ArrayShape::Given => "given",
            ArrayShape::Advised => "advised",
            ArrayShape::Split => "split",
        };
        write!(f, "{name:8}  {:>9}  {:>6}", self.bytes, self.lines)?;
        write!(f, "  {:>7.2}  {:>9.2}  {:>6.2}", self.touched, self.transfers, self.cost)
    }
}
