//! The report as one JSON object.

use super::Report;
use crate::measure::Row;
use crate::measure::stats::{Estimate, coverage, rank};
use crate::replay::{Here, Regime, Variant};
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
    played: Vec<Played>,
    replayed: Vec<Replayed<'a>>,
}

/// A phase of the replay on this machine. Without a layout: L0 under its second name.
#[derive(Serialize)]
struct Played {
    lanes: u32,
    order: &'static str,
    layout: Option<&'static str>,
    phase: &'static str,
    ns: Estimate,
    change: Estimate,
}

/// A phase of a replay in modelled caches, all counted periods together.
#[derive(Serialize)]
struct Replayed<'a> {
    run: &'a str,
    layout: &'static str,
    pages: &'static str,
    phase: &'static str,
    units: u64,
    l1: u64,
    l2: u64,
    last: u64,
}

fn played(tables: &[Here]) -> Vec<Played> {
    let rows = tables.iter().flat_map(|table| table.times.rows.iter().map(move |row| (table, row)));
    let played = rows.map(|(table, row)| Played {
        lanes: table.lanes,
        order: table.order,
        layout: row.variant.map(Variant::name),
        phase: row.phase.name(),
        ns: row.ns,
        change: row.change,
    });
    played.collect()
}

fn replayed(regimes: &[Regime]) -> Vec<Replayed<'_>> {
    let met = regimes.iter().flat_map(|regime| regime.met.iter().map(move |met| (regime, met)));
    let phases = met.flat_map(|(regime, met)| {
        met.phases.iter().map(move |(phase, tally)| Replayed {
            run: &regime.run.name,
            layout: met.variant.name(),
            pages: met.pages.name(),
            phase: phase.name(),
            units: tally.units,
            l1: tally.l1,
            l2: tally.l2,
            last: tally.last,
        })
    });
    phases.collect()
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
        played: played(report.played),
        replayed: replayed(report.replayed),
    };
    serde_json::to_writer(&mut *out, &object)?;
    writeln!(out)
}
