//! The report as tables.

use super::{Report, cache, size};
use crate::measure::stats::{Estimate, coverage, rank};
use crate::measure::{LAYOUTS, Row};
use std::io::{self, Write};

/// Writes `report` for people.
///
/// # Errors
///
/// Those of `out`.
pub fn table(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    head(report, out)?;
    // One table for each kernel, lane count and order, in the order in which they were measured.
    let key = |row: &Row| (row.structs, row.lanes, row.order);
    let rows = &report.results.rows;
    let tables = rows.chunk_by(|a, b| key(a) == key(b));
    for (rows, &null) in tables.zip(&report.results.nulls) {
        one_table(report, rows, null, out)?;
    }
    let (rejected, disturbed) =
        rows.iter().fold((0, 0), |(r, d), row| (r + row.rejected, d + row.disturbed));
    writeln!(
        out,
        "Samples rejected because the thread was switched out: {rejected}; kept all the same: \
         {disturbed}.\n"
    )?;
    writeln!(out, "{}", super::regime(report))
}

fn head(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let Report { machine, tree, config, .. } = report;
    writeln!(out, "{}", report.command)?;
    writeln!(
        out,
        "{}, {} CPUs, {} allowed; L1d {}, L2 {}, L3 {}; Linux {}, huge pages {}",
        machine.model,
        machine.cpus,
        machine.allowed.len(),
        cache(machine.l1),
        cache(machine.l2),
        cache(machine.l3),
        machine.kernel,
        machine.huge_pages,
    )?;
    writeln!(out, "backend {}", report.backend)?;
    writeln!(
        out,
        "tree: {} groups below the root, width {}, depth {}",
        tree.groups.len(),
        tree.width(),
        tree.depth()
    )?;
    let runs = config.runs as usize;
    writeln!(
        out,
        "Nanoseconds a visited group (group_walk: a visited copy): median of {runs} runs \
         [order-statistic interval, {:.1} %]; change against L0 in the same run.",
        coverage(runs, rank(runs)) * 100.0
    )?;
    writeln!(
        out,
        "L0 two pointer arrays, separate objects; L1b one array, co-located objects; L2 per-CPU \
         memory; null: L0 measured again under another name."
    )?;
    writeln!(
        out,
        "dep: the next group is read from the visited object; ind: it is not; tree: the links of \
         the groups lead.\n"
    )
}

fn one_table(
    report: &Report<'_>,
    rows: &[Row],
    null: Estimate,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    let label = if first.lanes == report.machine.cpus {
        "this machine's"
    } else {
        "a bigger machine's memory layout, walked by this machine's CPUs"
    };
    writeln!(
        out,
        "structures of Linux {}, {} lanes ({label}), objects in {} order",
        first.structs,
        first.lanes,
        if first.order == "allocation" { "allocation" } else { "shuffled (an aged heap's)" },
    )?;
    let bytes: Vec<String> = LAYOUTS[..3]
        .iter()
        .filter_map(|name| rows.iter().find(|row| row.layout == *name))
        .map(|row| format!("{} {}", row.layout, size(row.bytes)))
        .collect();
    writeln!(out, "bytes asked for: {} (with one spill lane)", bytes.join(", "))?;
    writeln!(
        out,
        "{:<10} {:<4} {:<5} {:>21} {:>21} {:>17} {:>21} {:>17} {:>17}",
        "walk",
        "next",
        "cache",
        "L0 ns",
        "L1b ns",
        "change %",
        "L2 ns",
        "change %",
        "null change %"
    )?;
    for of_task in rows.chunk_by(|a, b| a.task == b.task) {
        let [l0, l1b, l2, null] = of_task else { continue };
        let task = l0.task;
        let next = match (task.operation.has_dependent(), task.dependent, task.operation) {
            (true, true, _) => "dep",
            (true, false, _) | (_, _, crate::ops::Operation::GroupWalk) => "ind",
            _ => "tree",
        };
        writeln!(
            out,
            "{:<10} {:<4} {:<5} {:>21} {:>21} {:>17} {:>21} {:>17} {:>17}",
            task.operation.name(),
            next,
            task.cache.name(),
            ns(l0.ns),
            ns(l1b.ns),
            percent(l1b.change),
            ns(l2.ns),
            percent(l2.change),
            percent(null.change),
        )?;
    }
    writeln!(out, "null pair over all walks: {} %\n", percent(null))
}

fn ns(Estimate { median, lo, hi }: Estimate) -> String {
    // Three digits are more than the intervals allow.
    let digits = if median < 9.95 { 2 } else { 1 };
    format!("{median:.digits$} [{lo:.digits$}, {hi:.digits$}]")
}

fn percent(Estimate { median, lo, hi }: Estimate) -> String {
    let digits = if median.abs() < 0.0995 { 1 } else { 0 };
    let [median, lo, hi] = [median, lo, hi].map(|x| x * 100.0);
    format!("{median:+.digits$} [{lo:+.digits$}, {hi:+.digits$}]")
}
