//! The report as one JSON object.

use super::Report;
use crate::measure::Row;
use crate::measure::stats::{Estimate, coverage, rank};
use crate::trace::{self, Lines, Misses};
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
    modelled: Option<Modelled>,
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
    to_l2: Option<Estimate>,
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
            to_l2: row.to_l2,
            bytes: row.bytes,
            rejected: row.rejected,
            disturbed: row.disturbed,
        }
    }
}

/// The machine whose caches were modelled: bytes and ways of each level, and what the walks met.
#[derive(Serialize)]
struct Modelled {
    cpus: usize,
    line: usize,
    l1: [usize; 2],
    l2: [usize; 2],
    shared: [usize; 2],
    figures: Vec<Traced>,
}

#[derive(Serialize)]
struct Traced {
    layout: &'static str,
    structs: &'static str,
    step: Option<usize>,
    order: &'static str,
    pages: &'static str,
    operation: &'static str,
    lines: Lines,
    warm: Misses,
    swept: Misses,
}

impl From<&trace::Row> for Traced {
    fn from(row: &trace::Row) -> Self {
        Self {
            layout: row.layout,
            structs: row.structs,
            step: row.step,
            order: row.order,
            pages: row.pages.name(),
            operation: row.operation.name(),
            lines: row.lines,
            warm: row.warm,
            swept: row.swept,
        }
    }
}

impl Modelled {
    fn new(config: &trace::Config, rows: &[trace::Row]) -> Self {
        let machine = &config.machine;
        let [l1, l2, shared] =
            [machine.l1, machine.l2, machine.shared].map(|level| [level.size(), level.ways()]);
        let figures = rows.iter().map(Traced::from).collect();
        Self { cpus: machine.cores, line: machine.l1.line(), l1, l2, shared, figures }
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
        modelled: report.modelled.map(|config| Modelled::new(config, report.traced)),
    };
    serde_json::to_writer(&mut *out, &object)?;
    writeln!(out)
}
