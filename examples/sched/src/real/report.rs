//! The table: the kernel, the model, and how far apart they are.

use super::plan::Planned;
use crate::bandwidth::Semantics;
use crate::bandwidth::machine::Stat;
use serde::Serialize;
use std::io::{self, Write};

/// One figure, measured and predicted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pair {
    /// The kernel's.
    pub kernel: f64,
    /// The mean of the model's runs.
    pub model: f64,
    /// The least and the most of the model's runs.
    pub range: (f64, f64),
    /// `model / kernel - 1`; none where the kernel's is 0.
    pub difference: Option<f64>,
}

impl Pair {
    fn new(kernel: f64, runs: impl Iterator<Item = f64>) -> Self {
        let runs: Vec<f64> = runs.collect();
        let model = runs.iter().sum::<f64>() / runs.len().max(1) as f64;
        let least = runs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = runs.iter().copied().fold(0.0, f64::max);
        let difference = (kernel != 0.0).then(|| model / kernel - 1.0);
        Self { kernel, model, range: (least.min(most), most), difference }
    }
}

/// One group.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub group: String,
    /// Its weight.
    pub shares: u64,
    /// Quota and period in microseconds.
    pub limit: Option<(u64, u64)>,
    /// Milliseconds of CPU time.
    pub usage: Pair,
    /// Periods.
    pub nr_periods: Pair,
    /// Throttled periods.
    pub nr_throttled: Pair,
    /// Throttled milliseconds, the sum of the CPUs.
    pub throttled: Pair,
}

impl Row {
    /// A group, what the kernel said, and the runs of the model.
    pub fn new(group: &Planned, kernel: Stat, model: &[Stat]) -> Self {
        let pair = |of: fn(&Stat) -> f64| Pair::new(of(&kernel), model.iter().map(of));
        Self {
            group: group.name.to_owned(),
            shares: group.shares,
            limit: group.quota.map(|quota| (quota, group.period)),
            usage: pair(|stat| stat.usage as f64 / 1e6),
            nr_periods: pair(|stat| stat.nr_periods as f64),
            nr_throttled: pair(|stat| stat.nr_throttled as f64),
            throttled: pair(|stat| stat.throttled_time as f64 / 1e6),
        }
    }
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The kernel's release.
    pub release: String,
    /// Where the groups were.
    pub hierarchy: String,
    /// Which of the two meanings of "throttled" the model had.
    #[serde(skip)]
    pub semantics: Semantics,
    /// CPUs with busy loops.
    pub cpus: usize,
    /// How long was counted.
    pub seconds: f64,
    /// The model's ticks a second.
    pub hz: u64,
    /// The part of the CPUs' time that other programs took from the loops.
    pub others: f64,
    /// The groups.
    pub rows: Vec<Row>,
}

/// Prints the table.
///
/// # Errors
///
/// Whatever the writer says.
pub fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let semantics = match report.semantics {
        Semantics::EntityRemoved => "entities removed",
        Semantics::TasksDeferred => "tasks deferred",
    };
    writeln!(
        out,
        "Linux {}, {}; {} CPUs, {:.2} s; model: {semantics}, {} ticks a second",
        report.release, report.hierarchy, report.cpus, report.seconds, report.hz
    )?;
    writeln!(
        out,
        "other programs took {:.1} % of these CPUs, which the model does not know of\n",
        report.others * 100.0
    )?;
    writeln!(
        out,
        "{:<5} {:>6} {:>9}  {:^26}  {:^19}  {:^21}  {:^28}",
        "group",
        "shares",
        "limit ms",
        "CPU time, ms",
        "periods",
        "throttled periods",
        "throttled, ms"
    )?;
    let halves = |wide: usize| format!("{:>wide$} {:>wide$}", "kernel", "model");
    writeln!(
        out,
        "{:<5} {:>6} {:>9}  {} {:>7}  {} {:>6}  {} {:>7}  {} {:>7}",
        "",
        "",
        "",
        halves(9),
        "",
        halves(6),
        "",
        halves(6),
        "",
        halves(9),
        ""
    )?;
    for row in &report.rows {
        let limit = row.limit.map_or_else(
            || "-".to_owned(),
            |(quota, period)| format!("{}/{}", quota / 1000, period / 1000),
        );
        write!(out, "{:<5} {:>6} {limit:>9}  ", row.group, row.shares)?;
        write!(
            out,
            "{:>9.1} {:>9.1} {}  ",
            row.usage.kernel,
            row.usage.model,
            apart(row.usage, 7)
        )?;
        let counts = |pair: Pair| format!("{:>6.0} {:>6.1}", pair.kernel, pair.model);
        write!(out, "{} {}  ", counts(row.nr_periods), apart(row.nr_periods, 6))?;
        write!(out, "{} {}  ", counts(row.nr_throttled), apart(row.nr_throttled, 7))?;
        let times = format!("{:>9.1} {:>9.1}", row.throttled.kernel, row.throttled.model);
        writeln!(out, "{times} {}", apart(row.throttled, 7))?;
    }
    Ok(())
}

/// The relative difference, in percent.
fn apart(pair: Pair, wide: usize) -> String {
    match pair.difference {
        Some(difference) => format!("{:>+wide$.1}", difference * 100.0),
        None => format!("{:>wide$}", "-"),
    }
}
