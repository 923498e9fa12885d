//! The replay on this machine: the change of each phase's time beside that of its modelled misses.

use crate::measure::stats::{Estimate, coverage, rank};
use crate::replay::{Here, Met, Phase, TIMED, Tally, Timed, Variant};
use std::io::{self, Write};

/// Writes the tables of replays on this machine, of `runs` runs.
///
/// # Errors
///
/// Those of `out`.
pub fn played(tables: &[Here], runs: u32, out: &mut impl Write) -> io::Result<()> {
    let Some(first) = tables.first() else { return Ok(()) };
    let rules = first.rules;
    writeln!(
        out,
        "Replay of the kernel's benchmark, phase by phase, a thread on each of {} CPUs; all layouts \
         take turns, a period each. Each leaf has a task on {} CPUs. Quota on the leaves: {} % of these \
         CPUs, {} us in a period of {} us{}; {} balances a period. Nanoseconds a unit in L0: median of \
         {runs} runs [order-statistic interval, {:.1} %].",
        first.cpus,
        first.on,
        rules.share,
        first.limits.1,
        first.limits.0,
        if first.limits.0 > rules.period {
            format!(
                " (not {}: the quota would be less than the kernel's least, {} us)",
                rules.period, rules.least_quota
            )
        } else {
            String::new()
        },
        rules.balances,
        coverage(runs as usize, rank(runs as usize)) * 100.0,
    )?;
    writeln!(
        out,
        "A layout's columns: change of the time against L0 in the same run, in per cent [interval]; \
         change of the misses in L2 and in the last level of the modelled caches, in the same replay \
         (- where L0 has fewer than one in a hundred units). null: L0 played again under another \
         name.\n"
    )?;
    for table in tables {
        one_table(table, out)?;
    }
    Ok(())
}

fn one_table(table: &Here, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "replay, {} lanes, objects in {} order; samples rejected because a thread was switched out: {}; \
         kept all the same: {}",
        table.lanes, table.order, table.times.rejected, table.times.disturbed
    )?;
    let titles: String = TIMED
        .iter()
        .filter(|variant| **variant != Variant::L0)
        .map(|variant| format!("{:>32}", format!("{} time, L2, last", variant.name())))
        .collect();
    writeln!(out, "{:<11}{:<13}{:>22}{:>19}{titles}", "phase", "unit", "L0 ns", "null %")?;
    for phase in Phase::ALL {
        let rows: Vec<&Timed> = table.times.rows.iter().filter(|r| r.phase == phase).collect();
        let of = |variant| rows.iter().find(|row| row.variant == variant);
        let Some(base) = of(Some(Variant::L0)) else { continue };
        let null = of(None).map_or_else(String::new, |row| percent(row.change));
        let mut line =
            format!("{:<11}{:<13}{:>22}{null:>19}", phase.name(), phase.unit(), ns(base.ns));
        for &variant in TIMED.iter().filter(|variant| **variant != Variant::L0) {
            let time = of(Some(variant)).map_or_else(String::new, |row| percent(row.change));
            line.push_str(&format!(
                "{:>32}",
                format!("{time}{}", misses(&table.met, variant, phase))
            ));
        }
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

/// The change of a phase's misses in both levels.
fn misses(met: &[Met], variant: Variant, phase: Phase) -> String {
    let tally = |variant| {
        let of = met.iter().find(|met| met.variant == variant)?;
        of.phases.get(&phase).copied()
    };
    let (Some(base), Some(here)) = (tally(Variant::L0), tally(variant)) else {
        return String::new();
    };
    let change = |of: fn(Tally) -> u64| match (of(base), of(here)) {
        (before, _) if before * 100 < base.units => "-".to_owned(),
        (before, after) => format!("{:+.0}", (after as f64 / before as f64 - 1.0) * 100.0),
    };
    format!(", {}, {}", change(|tally| tally.l2), change(|tally| tally.last))
}

fn ns(Estimate { median, lo, hi }: Estimate) -> String {
    format!("{median:.0} [{lo:.0}, {hi:.0}]")
}

fn percent(Estimate { median, lo, hi }: Estimate) -> String {
    let [median, lo, hi] = [median, lo, hi].map(|x| x * 100.0);
    format!("{median:+.1} [{lo:+.1}, {hi:+.1}]")
}
