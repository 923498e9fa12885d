//! The sentence at the end: what fits where, what was only a label, who wins and who loses.

use super::{Report, cache, size};
use crate::layout::{L2, Layout};
use crate::measure::stats::Estimate;
use crate::measure::{Cache, NULL, Row};
use crate::ops::Operation;
use crate::structs::{v6_14::V6_14, v7_2::V7_2};

/// Says in which regime the figures were taken, and what they show there.
pub fn regime(report: &Report<'_>) -> String {
    if report.results.rows.is_empty() {
        return String::new();
    }
    let mut text = working_set(report);
    for &lanes in &report.config.lanes {
        text.push(' ');
        text.push_str(&verdict(report, lanes));
        text.push_str(&reordered(report, lanes));
    }
    text.push(' ');
    text.push_str(&null_pair(report));
    text
}

/// How large one CPU's state is, and which cache holds it.
fn working_set(report: &Report<'_>) -> String {
    let machine = report.machine;
    let groups = report.tree.groups.len() as u64;
    let cpu_bytes = |name: &str| {
        // One lane of the layout with two, less the one with one.
        let lane = if name == "6.14" {
            L2::<V6_14>::group_bytes(1) - L2::<V6_14>::group_bytes(0)
        } else {
            L2::<V7_2>::group_bytes(1) - L2::<V7_2>::group_bytes(0)
        };
        lane * groups
    };
    let mut bytes: Vec<u64> =
        report.results.rows.iter().map(|row| cpu_bytes(row.structs)).collect();
    bytes.sort_unstable();
    let largest = bytes.last().copied().unwrap_or(0);
    let levels = [("L1", machine.l1), ("L2", machine.l2), ("L3", machine.l3)];
    let fits = levels.iter().find(|(_, cache)| cache.is_some_and(|cache| largest <= cache));
    let fits = fits.map_or_else(
        || "which fits none of the caches whose size is known".to_owned(),
        |(level, bytes)| format!("which fits the {level} cache ({})", cache(*bytes)),
    );
    format!(
        "Regime: one CPU's dense state of {groups} groups is {} with 17 lines a group, {fits}; a \
         swept walk begins with level 1 and 2 full of other data, a walk and a sweep after the \
         state was last used: it finds it in level 3, or in memory where level 3 is small or shared.",
        size(largest)
    )
}

/// What per-CPU memory does at this lane count.
fn verdict(report: &Report<'_>, lanes: u32) -> String {
    let l2 = |row: &&Row| row.layout == "L2" && row.lanes == lanes;
    let walks = |row: &&Row| row.task.operation != Operation::GroupWalk;
    let rows: Vec<&Row> = report.results.rows.iter().filter(l2).collect();
    let range = |rows: &mut dyn Iterator<Item = &&Row>| {
        let changes: Vec<f64> = rows.map(|row| row.change.median).collect();
        let lo = changes.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = changes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!("{:+.0} to {:+.0} %", lo * 100.0, hi * 100.0)
    };
    let along = rows.iter().filter(|row| walks(row));
    let (mut faster, mut unclear) = (0, 0);
    let mut slower = Vec::new();
    for row in along.clone() {
        match row.change {
            change if change.hi < 0.0 => faster += 1,
            change if change.lo > 0.0 => slower.push(describe(row, change)),
            _ => unclear += 1,
        }
    }
    let label = if lanes == report.machine.cpus {
        String::new()
    } else {
        format!(
            " (the memory layout of {lanes} CPUs; {} ran, the others did nothing)",
            report.machine.allowed.len()
        )
    };
    let slower = slower_in(&slower);
    let warm = |row: &&&Row| {
        let task = row.task;
        task.operation == Operation::CpuWalk && task.dependent && task.cache == Cache::Warm
    };
    let across = |order: &str| {
        let mut rows = rows.iter().filter(|row| !walks(row) && row.order == order);
        range(&mut rows)
    };
    format!(
        "At {lanes} lanes{label} walks along one CPU are faster with per-CPU memory (L2) than with \
         pointer arrays (L0) in {faster} of {} cases, {slower}, undecided in {unclear}; the \
         dependent warm cpu_walk changes by {}. group_walk goes across the CPUs, each copy on a \
         page of its own, which is what per-CPU memory is bad at: it changes the time by {} where \
         the heap is in order, by {} where it is aged.",
        along.clone().count(),
        range(&mut along.clone().filter(warm)),
        across("allocation"),
        across("shuffled"),
    )
}

/// What the order of the fields does, all else being as in L2.
fn reordered(report: &Report<'_>, lanes: u32) -> String {
    let one = |layout: &str, order: &str| {
        let of = |row: &&Row| row.lanes == lanes && row.layout == layout;
        let rows = report.results.rows.iter().filter(of);
        let pairs: Vec<(&Row, Estimate)> = rows.filter_map(|row| Some((row, row.to_l2?))).collect();
        if pairs.is_empty() {
            return String::new();
        }
        let faster = pairs.iter().filter(|(_, change)| change.hi < 0.0).count();
        let slower: Vec<String> = pairs
            .iter()
            .filter(|(_, change)| change.lo > 0.0)
            .map(|(row, change)| describe(row, *change))
            .collect();
        format!(
            " {order} in the same memory ({layout} against L2): faster in {faster} of {} cases, {}, \
             undecided in {}.",
            pairs.len(),
            slower_in(&slower),
            pairs.len() - faster - slower.len()
        )
    };
    let rfc = one("L3", "The RFC's order of fields");
    rfc + &one("L3x", "That order with two fields exchanged")
}

fn slower_in(cases: &[String]) -> String {
    if cases.is_empty() {
        return "slower in none".to_owned();
    }
    format!("slower in {} ({})", cases.len(), cases.join("; "))
}

fn describe(row: &Row, change: Estimate) -> String {
    format!(
        "{} {} {} {} {:+.0} %",
        row.structs,
        row.order,
        row.task.operation.name(),
        row.task.cache.name(),
        change.median * 100.0
    )
}

/// How far the harness itself is off.
fn null_pair(report: &Report<'_>) -> String {
    let percent = |x: f64| x.abs() * 100.0;
    let worst = |of: &mut dyn Iterator<Item = f64>| of.map(percent).fold(0.0, f64::max);
    let rows: Vec<&Row> = report.results.rows.iter().filter(|row| row.layout == NULL).collect();
    let apart = rows.iter().filter(|row| row.change.lo > 0.0 || row.change.hi < 0.0).count();
    format!(
        "The null pair, one copy of L0 under two names, differs by at most {:.1} % over the walks \
         of a table, and by at most {:.1} % in a single walk; its interval misses zero in {apart} \
         of {} walks.",
        worst(&mut report.results.nulls.iter().map(|null| null.median)),
        worst(&mut rows.iter().map(|row| row.change.median)),
        rows.len()
    )
}
