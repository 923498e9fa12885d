//! The report as one JSON object.

use super::Report;
use crate::measure::Row;
use crate::measure::stats::{Estimate, coverage, rank};
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Object<'a> {
    machine: &'a crate::measure::machine::Machine,
    backend: &'a str,
    command: &'a str,
    tree: Shape,
    runs: u32,
    seed: u64,
    interval: Interval,
    nulls: &'a [Estimate],
    results: Vec<Figure>,
    regime: String,
}

#[derive(Serialize)]
struct Shape {
    groups: usize,
    width: usize,
    depth: usize,
}

#[derive(Serialize)]
struct Interval {
    kind: &'static str,
    coverage: f64,
}

#[derive(Serialize)]
struct Figure {
    layout: &'static str,
    structs: &'static str,
    operation: &'static str,
    lanes: u32,
    order: &'static str,
    cache: &'static str,
    dependent: bool,
    ns: Estimate,
    change: Estimate,
    bytes: u64,
    rejected: u32,
    disturbed: u32,
}

impl From<&Row> for Figure {
    fn from(row: &Row) -> Self {
        Self {
            layout: row.layout,
            structs: row.structs,
            operation: row.task.operation.name(),
            lanes: row.lanes,
            order: row.order,
            cache: row.task.cache.name(),
            dependent: row.task.dependent,
            ns: row.ns,
            change: row.change,
            bytes: row.bytes,
            rejected: row.rejected,
            disturbed: row.disturbed,
        }
    }
}

/// Writes `report` as one object and a line's end.
///
/// # Errors
///
/// Those of `out`.
pub fn json(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let tree = report.tree;
    let runs = report.config.runs;
    let object = Object {
        machine: report.machine,
        backend: &report.backend,
        command: &report.command,
        tree: Shape { groups: tree.groups.len(), width: tree.width(), depth: tree.depth() },
        runs,
        seed: report.config.seed,
        interval: Interval {
            kind: "order statistics",
            coverage: coverage(runs as usize, rank(runs as usize)),
        },
        nulls: &report.results.nulls,
        results: report.results.rows.iter().map(Figure::from).collect(),
        regime: super::regime(report),
    };
    serde_json::to_writer(&mut *out, &object)?;
    writeln!(out)
}
