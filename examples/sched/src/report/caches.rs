//! The lines of the walks and their misses in the modelled caches: tables, and what they show.

use super::size;
use crate::ops::Operation;
use crate::trace::{Config, Misses, Pages, Row};
use std::io::{self, Write};

/// Writes what the walks met in the modelled caches.
///
/// # Errors
///
/// Those of `out`.
pub fn caches(config: &Config, rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let machine = &config.machine;
    let [l1, l2, shared] = [machine.l1, machine.l2, machine.shared]
        .map(|level| format!("{} in {} ways", size(level.size() as u64), level.ways()));
    writeln!(
        out,
        "Modelled caches, nothing measured: {} cores walk at once, one visit each in turn. Each has \
         L1 {l1} and L2 {l2}; all share {shared}; lines of {} bytes, LRU; no prefetch, no TLB, no \
         coherence. Seed {}.",
        machine.cores,
        machine.l1.line(),
        config.seed
    )?;
    writeln!(
        out,
        "lines: different ones that a visit uses, of the groups' state, and around it (table, group, \
         pointer arrays, run queue). Misses a visit, after the same walk (warm), and after that with \
         the cores' own caches full of other data (swept)."
    )?;
    writeln!(
        out,
        "step: lines from one object to the next in per-CPU memory; objects on the heap lie as in \
         the kernel's slabs. One core alone walks over all CPUs (group_walk).\n"
    )?;
    let key = |row: &Row| (row.order, row.pages);
    for rows in rows.chunk_by(|a, b| key(a) == key(b)) {
        one_table(rows, out)?;
        if let Some(shown) = shown(rows) {
            writeln!(out, "{shown}\n")?;
        }
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

/// What one table shows of the RFC's order of fields, and of steps of an even number of lines.
fn shown(rows: &[Row]) -> Option<String> {
    let first = rows.first()?;
    let find = |layout: &str, step: usize, operation: Operation| {
        let mut of = rows.iter().filter(|row| row.structs == "6.14" && row.operation == operation);
        of.find(|row| row.layout == layout && row.step == Some(step))
    };
    let compare = |[before, after]: [(&str, usize); 2], figure: fn(&Row) -> f64| {
        let pairs = Operation::ALL.into_iter().filter_map(|operation| {
            let figure = |(layout, step)| find(layout, step, operation).map(figure);
            Some((operation.name(), figure(before)?, figure(after)?))
        });
        fewer_more(&pairs.collect::<Vec<_>>())
    };
    let (l2, l3) = (("L2", 17), ("L3", 15));
    find("L3", 15, Operation::Blocked)?;
    Some(format!(
        "In {} order, pages {}. From L2 at 17 lines a step to L3 at 15: lines of state a visit are \
         {}; misses in the second level, warm, {}; swept, {}; in the last level, swept, {}. From an \
         odd step to an even one, misses in the second level, warm: L2 from 17 to 16 lines {}; L3 \
         from 15 to 16 lines {}.",
        first.order,
        first.pages.name(),
        compare([l2, l3], |row| row.lines.state),
        compare([l2, l3], |row| row.warm.l2),
        compare([l2, l3], |row| row.swept.l2),
        compare([l2, l3], |row| row.swept.shared),
        compare([l2, ("L2", 16)], |row| row.warm.l2),
        compare([l3, ("L3", 16)], |row| row.warm.l2),
    ))
}

/// Which walks have fewer after than before, which more, which about as many.
fn fewer_more(pairs: &[(&str, f64, f64)]) -> String {
    // A twentieth of a line is less than the placing of pages makes.
    let about = |before: f64, after: f64| (before - after).abs() <= 0.05;
    let numbers = |keep: &dyn Fn(f64, f64) -> bool| -> Vec<String> {
        let kept = pairs.iter().filter(|(_, before, after)| keep(*before, *after));
        kept.map(|(name, before, after)| format!("{name} {before:.2} to {after:.2}")).collect()
    };
    let fewer = numbers(&|before, after| after < before && !about(before, after));
    let more = numbers(&|before, after| after > before && !about(before, after));
    let same = pairs.len() - fewer.len() - more.len();
    let mut said = Vec::new();
    for (word, which) in [("fewer", fewer), ("more", more)] {
        if !which.is_empty() {
            said.push(format!("{word} in {} ({})", which.len(), which.join(", ")));
        }
    }
    if same > 0 {
        said.push(format!("about as many in {same}"));
    }
    said.join(", ")
}
