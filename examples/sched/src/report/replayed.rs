//! The replays in the modelled caches: the table of regimes, and the misses of each phase.

use crate::replay::{Independent, Met, Phase, Regime, Tally, Variant};
use crate::trace::Pages;
use std::io::{self, Write};

/// A level of which misses are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    L2,
    Last,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Self::L2 => "L2",
            Self::Last => "last",
        }
    }

    const fn of(self, tally: Tally) -> u64 {
        match self {
            Self::L2 => tally.l2,
            Self::Last => tally.last,
        }
    }
}

/// Writes what the replays met, and beside it what another model found.
///
/// # Errors
///
/// Those of `out`.
pub fn replayed(regimes: &[Regime], out: &mut impl Write) -> io::Result<()> {
    let Some(first) = regimes.first() else { return Ok(()) };
    let (l1, l2) = (first.run.caches.l1, first.run.caches.l2);
    writeln!(
        out,
        "Replays in modelled caches, nothing measured: the kernel's benchmark of task groups, period \
         by period, on all CPUs at once, one step each in turn. Each core has L1 {} and L2 {}, all \
         share the last level; LRU; no prefetch, no TLB, no coherence.",
        level(l1),
        level(l2),
    )?;
    writeln!(
        out,
        "L0 two pointer arrays, two objects; L1 two arrays, one object; L1b one array, one object; L2 \
         per-CPU memory, 16 lines a step as the kernel's; L2/17 the same a line farther apart, as this \
         crate's; L3 the RFC's order of fields, 15 lines; L3/16 a line farther apart; L3x the RFC's order with \
         one exchange; L2' the structures of 7.2, 17 lines."
    )?;
    for regime in regimes {
        writeln!(out, "{}", in_words(regime))?;
    }
    writeln!(out)?;
    for pages in [Pages::Scattered, Pages::Contiguous] {
        table(regimes, pages, out)?;
    }
    for regime in regimes {
        phases(regime, out)?;
    }
    Ok(())
}

fn in_words(regime: &Regime) -> String {
    let run = &regime.run;
    let (period, quota) = regime.limits;
    let longer = if period > regime.rules.period {
        format!(
            " (not {}: the quota would be less than {} us)",
            regime.rules.period, regime.rules.least_quota
        )
    } else {
        String::new()
    };
    format!(
        "{}: {} CPUs on {} nodes, depth {} and width {}, each leaf on {}; free lists {}; quota on {}, \
         {quota} us of {period} us{longer}; last level {}.",
        run.name,
        run.cpus,
        run.nodes,
        run.depth,
        run.width,
        run.on,
        run.free_list.name(),
        regime.quotas.name(),
        level(run.caches.shared),
    )
}

/// A cache in words: bytes and ways.
fn level(of: model::Geometry) -> String {
    let size = match of.size() {
        bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    };
    format!("{size} in {} ways", of.ways())
}

fn table(regimes: &[Regime], pages: Pages, out: &mut impl Write) -> io::Result<()> {
    let independent = Independent::fixed();
    let what = match pages {
        Pages::Scattered => "slabs of 32 KiB anywhere, per-CPU memory on 4 KiB pages anywhere",
        Pages::Contiguous => "all memory in a row, as on huge pages",
    };
    writeln!(
        out,
        "Misses a period in L0, and the change against it in per cent; behind it in brackets what \
         another model found, with a star where the sign is another. {what}:"
    )?;
    let others = || Variant::ALL.into_iter().filter(|variant| *variant != Variant::L0);
    let head: Vec<String> = others().map(|variant| format!("{:>16}", variant.name())).collect();
    writeln!(out, "{:<14} {:<5} {:>9}{}", "run", "level", "L0", head.join(""))?;
    for regime in regimes {
        let of = |variant| regime.met.iter().find(|m| (m.variant, m.pages) == (variant, pages));
        let Some(base) = of(Variant::L0) else { continue };
        for level in [Level::L2, Level::Last] {
            let before = level.of(base.total());
            let cell = |variant: Variant| {
                let Some(met) = of(variant) else { return format!("{:>16}", "-") };
                let change = change(before, level.of(met.total()));
                let found = independent.of(&regime.run.name, level.name(), variant);
                let there = found.map_or(String::new(), |found| {
                    let star = if differs(change, found) { "*" } else { "" };
                    format!(" ({found:+.1}){star}")
                });
                format!("{:>16}", format!("{change:+.1}{there}"))
            };
            let cells: String = others().map(cell).collect();
            let a_period = before / u64::from(regime.rules.periods);
            writeln!(out, "{:<14} {:<5} {a_period:>9}{cells}", regime.run.name, level.name())?;
        }
    }
    writeln!(out)
}

/// `after / before - 1` in per cent.
fn change(before: u64, after: u64) -> f64 {
    if before == 0 { 0.0 } else { (after as f64 / before as f64 - 1.0) * 100.0 }
}

/// Whether one is more and the other less.
fn differs(here: f64, there: f64) -> bool {
    here * there < 0.0
}

/// Misses a unit of each phase.
fn phases(regime: &Regime, out: &mut impl Write) -> io::Result<()> {
    let pages = Pages::Scattered;
    let met: Vec<&Met> = regime.met.iter().filter(|met| met.pages == pages).collect();
    writeln!(
        out,
        "{}: misses in L2 and in the last level, a unit of each phase; pages {}",
        regime.run.name,
        pages.name()
    )?;
    let head: String = met.iter().map(|met| format!("{:>15}", met.variant.name())).collect();
    writeln!(out, "{:<11}{:<13} {:>7}{head}", "phase", "unit", "units")?;
    for phase in Phase::ALL {
        let of = |met: &Met| met.phases.get(&phase).copied().unwrap_or_default();
        let units = met.first().map_or(0, |met| of(met).units);
        let cell = |met: &&Met| {
            let tally = of(met);
            let a_unit = |misses: u64| misses as f64 / tally.units.max(1) as f64;
            format!("{:>15}", format!("{:.2} {:.2}", a_unit(tally.l2), a_unit(tally.last)))
        };
        let cells: String = met.iter().map(cell).collect();
        writeln!(out, "{:<11}{:<13} {units:>7}{cells}", phase.name(), phase.unit())?;
    }
    writeln!(out)
}
