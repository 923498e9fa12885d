//! What an order costs, exactly.

use crate::place::Placed;
use crate::traffic::{Line, Use};
use crate::{Problem, problem::Operation};
use std::collections::BTreeMap;

/// What things cost, in units of one line that an operation touches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prices {
    /// A line that an operation touches.
    pub line: f64,
    /// A transfer between CPUs that it waits for. It takes longer than a miss that the last-level
    /// cache serves, and all who want the line wait in turn.
    pub transfer: f64,
    /// A line of the struct's size.
    pub memory: f64,
}

impl Default for Prices {
    fn default() -> Self {
        Self { line: 1.0, transfer: 4.0, memory: 0.01 }
    }
}

/// What an order costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Cost {
    /// Bytes of the struct.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
    /// Each operation, in the problem's order.
    pub operations: Vec<OperationCost>,
    /// Of an average operation: the lines that it touches.
    pub lines: f64,
    /// Of an average operation: the transfers that it waits for.
    pub transfers: f64,
    /// All of it by its prices: what the advice lowers.
    pub cost: f64,
}

/// What one run of an operation costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperationCost {
    /// Lines: the misses if none of them is in the cache. Where the struct is aligned to less than a
    /// line, the largest number that any place of it gives.
    pub lines: usize,
    /// Transfers that it waits for: the misses if every line stays in the cache until another CPU
    /// wants it.
    pub transfers: f64,
}

/// One run of an operation on bytes that lie somewhere.
pub(crate) struct Run {
    pub(crate) used: Use,
    /// First byte, size, whether it is written, in the order of the touches.
    pub(crate) bytes: Vec<(usize, usize, bool)>,
}

impl Run {
    pub(crate) fn of(operation: &Operation, problem: &Problem, offsets: &[usize]) -> Self {
        let bytes = operation
            .touches
            .iter()
            .map(|touch| (offsets[touch.field], problem.fields[touch.field].size, touch.written));
        let (weight, by) = (operation.weight, operation.by);
        let used = Use { weight, by, reads: false, writes: false };
        Self { used, bytes: bytes.filter(|bytes| bytes.1 > 0).collect() }
    }

    /// What it does to each line it touches, if byte 0 lies `base` bytes behind the start of one.
    fn lines(&self, line: usize, base: usize) -> BTreeMap<usize, Use> {
        let mut lines = BTreeMap::new();
        for &(first, size, written) in &self.bytes {
            for at in (base + first) / line..=(base + first + size - 1) / line {
                let used: &mut Use = lines.entry(at).or_insert(self.used);
                used.touch(written);
            }
        }
        lines
    }
}

/// Lines (the most, and on average) and transfers (on average) of each run, over all places where
/// byte 0 may lie.
pub(crate) fn judge(runs: &[Run], line: usize, align: usize, cpus: u32) -> Vec<(usize, f64, f64)> {
    let bases: Vec<usize> = (0..line).step_by(align.clamp(1, line)).collect();
    let mut found = vec![(0, 0.0, 0.0); runs.len()];
    for &base in &bases {
        let uses: Vec<_> = runs.iter().map(|run| run.lines(line, base)).collect();
        let mut lines: BTreeMap<usize, Line> = BTreeMap::new();
        for (&at, used) in uses.iter().flatten() {
            lines.entry(at).or_default().add(used);
        }
        for (found, uses) in found.iter_mut().zip(&uses) {
            found.0 = found.0.max(uses.len());
            found.1 += uses.len() as f64 / bases.len() as f64;
            let transfers: f64 =
                uses.iter().map(|(at, used)| lines[at].transfers(used, cpus)).sum();
            found.2 += transfers / bases.len() as f64;
        }
    }
    found
}

impl Cost {
    pub(crate) fn of(problem: &Problem, placed: &Placed) -> Self {
        let runs: Vec<Run> =
            problem.operations.iter().map(|o| Run::of(o, problem, &placed.offsets)).collect();
        let found = judge(&runs, problem.line, placed.align, problem.cpus);
        let operations: Vec<_> =
            found.iter().map(|&(lines, _, transfers)| OperationCost { lines, transfers }).collect();
        let average = |of: fn(&OperationCost) -> f64| {
            let weighted = problem.operations.iter().zip(&operations);
            weighted.map(|(o, cost)| o.weight * of(cost)).sum::<f64>() / problem.weight()
        };
        let lines = average(|cost| cost.lines as f64);
        let transfers = average(|cost| cost.transfers);
        let prices = &problem.prices;
        let memory = placed.size as f64 / problem.line as f64;
        let cost = prices.line * lines + prices.transfer * transfers + prices.memory * memory;
        Self { size: placed.size, align: placed.align, operations, lines, transfers, cost }
    }
}
