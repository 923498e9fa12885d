//! The report as tables.

use super::{Report, cache, size};
use crate::measure::stats::{Estimate, coverage, rank};
use crate::measure::{Memory, NULL, Row};
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
    if !rows.is_empty() {
        end(report, out)?;
    }
    super::played(report.played, report.config.runs, out)?;
    report.modelled.map_or(Ok(()), |config| super::caches(config, report.traced, out))?;
    super::replayed(report.replayed, out)
}

fn end(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let rows = &report.results.rows;
    let (rejected, disturbed) =
        rows.iter().fold((0, 0), |(r, d), row| (r + row.rejected, d + row.disturbed));
    writeln!(
        out,
        "Samples rejected because the thread was switched out: {rejected}; kept all the same: \
         {disturbed}.\n"
    )?;
    writeln!(out, "{}\n", super::regime(report))
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
    if report.results.rows.is_empty() {
        return writeln!(out);
    }
    let Memory { huge_pages, odd_lines } = config.memory;
    writeln!(
        out,
        "per-CPU memory on {} pages, an {} number of lines from one object to the next",
        if huge_pages { "huge" } else { "ordinary" },
        if odd_lines { "odd" } else { "even" },
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
         memory; L3 the same with the RFC's order of fields, to L2 too; L3x that with two fields \
         exchanged; null: L0 measured again \
         under another name."
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
    let layouts = rows.iter().take_while(|row| row.task == first.task);
    let bytes: Vec<String> = layouts
        .clone()
        .filter(|row| row.layout != NULL)
        .map(|row| format!("{} {}", row.layout, size(row.bytes)))
        .collect();
    writeln!(out, "bytes asked for: {} (with one spill lane)", bytes.join(", "))?;
    let mut head = format!("{:<10} {:<4} {:<5}", "walk", "next", "cache");
    for row in layouts {
        let change = if row.layout == NULL { "null change %" } else { "change %" };
        let titles = [format!("{} ns", row.layout), change.to_owned(), "to L2 %".to_owned()];
        head.extend(columns(row, titles));
    }
    writeln!(out, "{head}")?;
    for of_task in rows.chunk_by(|a, b| a.task == b.task) {
        let Some(task) = of_task.first().map(|row| row.task) else { continue };
        let next = match (task.operation.has_dependent(), task.dependent, task.operation) {
            (true, true, _) => "dep",
            (true, false, _) | (_, _, crate::ops::Operation::GroupWalk) => "ind",
            _ => "tree",
        };
        let mut line =
            format!("{:<10} {:<4} {:<5}", task.operation.name(), next, task.cache.name());
        for row in of_task {
            let to_l2 = row.to_l2.map(percent).unwrap_or_default();
            line.extend(columns(row, [ns(row.ns), percent(row.change), to_l2]));
        }
        writeln!(out, "{line}")?;
    }
    writeln!(out, "null pair over all walks: {} %\n", percent(null))
}

/// A layout's part of a line: time, change, change against L2, of which it has what it needs.
fn columns(row: &Row, [ns, change, to_l2]: [String; 3]) -> [String; 3] {
    let column = |shown: bool, text: String, width: usize| {
        if shown { format!(" {text:>width$}") } else { String::new() }
    };
    [
        column(row.layout != NULL, ns, 21),
        column(row.layout != "L0", change, 17),
        column(row.to_l2.is_some(), to_l2, 17),
    ]
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
