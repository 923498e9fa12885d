//! The lines of the walks and their misses in the modelled caches: tables, and what they show.

use super::{Report, size};
use crate::ops::Operation;
use crate::trace::{Misses, Pages, Row};
use std::io::{self, Write};

/// Writes what the walks met in the modelled caches, if they were modelled.
///
/// # Errors
///
/// Those of `out`.
pub fn caches(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let Some(config) = report.modelled else { return Ok(()) };
    let machine = &config.machine;
    let [l1, l2, shared] = [machine.l1, machine.l2, machine.shared]
        .map(|level| format!("{} in {} ways", size(level.size() as u64), level.ways()));
    writeln!(
        out,
        "Modelled caches, not measured: {} cores walk at once, one visit each in turn; L1 {l1}, L2 \
         {l2} for each; last level {shared} for all; lines of {} bytes; LRU, no prefetch, no TLB, \
         no coherence. Seed {}.",
        machine.cores,
        machine.l1.line(),
        config.seed
    )?;
    writeln!(
        out,
        "lines: different ones that a visit uses, of the groups' state, and around it (table, group, \
         pointer arrays, run queue); misses a visit, after the same walk (warm), and after that with \
         the cores' own caches full of other data (swept). step: lines from one object to the \
         next in per-CPU memory; heap objects lie as in the kernel's slabs.\n"
    )?;
    let key = |row: &Row| (row.order, row.pages);
    for rows in report.traced.chunk_by(|a, b| key(a) == key(b)) {
        one_table(rows, out)?;
    }
    for line in shown(report.traced) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn one_table(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    let pages = match first.pages {
        Pages::Scattered => "4 KiB pages in any frames",
        Pages::Contiguous => "pages in a row, as in a huge page",
    };
    writeln!(out, "objects in {} order, {pages}", first.order)?;
    let misses = |[l1, l2, shared]: [&str; 3]| format!("{l1:>8} {l2:>6} {shared:>6}");
    let head = ["L1", "L2", "last"];
    writeln!(
        out,
        "{:<10} {:<5} {:<6} {:>4} {:>6} {:>6} {} {}",
        "walk",
        "of",
        "layout",
        "step",
        "state",
        "around",
        misses(head.map(|level| if level == "L1" { "warm L1" } else { level })),
        misses(head.map(|level| if level == "L1" { "swept L1" } else { level })),
    )?;
    for row in rows {
        let numbers = |Misses { l1, l2, shared }: Misses| {
            let [l1, l2, shared] = [l1, l2, shared].map(|misses| format!("{misses:.2}"));
            misses([&l1, &l2, &shared])
        };
        writeln!(
            out,
            "{:<10} {:<5} {:<6} {:>4} {:>6.2} {:>6.2} {} {}",
            row.operation.name(),
            row.structs,
            row.layout,
            row.step.map_or_else(|| "-".to_owned(), |step| step.to_string()),
            row.lines.state,
            row.lines.around,
            numbers(row.warm),
            numbers(row.swept),
        )?;
    }
    writeln!(out)
}

/// What the tables show: fields in another order, and steps of an even number of lines.
fn shown(rows: &[Row]) -> Vec<String> {
    let mut said = Vec::new();
    for of in rows.chunk_by(|a, b| (a.order, a.pages) == (b.order, b.pages)) {
        let Some(first) = of.first() else { continue };
        let find = |layout: &str, step: usize, operation: Operation| {
            of.iter().find(|row| {
                let is_this = row.layout == layout && row.step == Some(step);
                is_this && row.operation == operation && row.structs == "6.14"
            })
        };
        let (mut reordered, mut steps) = (Vec::new(), Vec::new());
        for operation in Operation::ALL {
            let find = |layout, step| find(layout, step, operation);
            let (Some(l2), Some(l2_even), Some(l3), Some(l3_even)) =
                (find("L2", 17), find("L2", 16), find("L3", 15), find("L3", 16))
            else {
                continue;
            };
            reordered.push(format!(
                "{} {:.1} -> {:.1} lines of state, {:.2} -> {:.2} L2 misses warm, {:.2} -> {:.2} swept, \
                 {:.2} -> {:.2} in the last level",
                operation.name(),
                l2.lines.state,
                l3.lines.state,
                l2.warm.l2,
                l3.warm.l2,
                l2.swept.l2,
                l3.swept.l2,
                l2.swept.shared,
                l3.swept.shared,
            ));
            if worse(l2_even.warm, l2.warm) || worse(l3_even.warm, l3.warm) {
                steps.push(format!(
                    "{} L2 {:.2} at 16 lines, {:.2} at 17; L3 {:.2} at 16, {:.2} at 15",
                    operation.name(),
                    l2_even.warm.l2,
                    l2.warm.l2,
                    l3_even.warm.l2,
                    l3.warm.l2,
                ));
            }
        }
        if reordered.is_empty() {
            continue;
        }
        let steps = if steps.is_empty() { "in no walk".to_owned() } else { steps.join("; ") };
        said.push(format!(
            "Shown, {} order, {} pages. L2 at 17 lines a step -> L3 at 15: {}. Even steps lose, by \
             warm L2 misses a visit: {steps}.",
            first.order,
            first.pages.name(),
            reordered.join("; "),
        ));
    }
    said
}

/// Whether a step of an even number of lines costs a twentieth more misses in the second level.
fn worse(even: Misses, odd: Misses) -> bool {
    even.l2 > odd.l2 * 1.05 + 0.005
}
