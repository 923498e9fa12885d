//! Tables for people, or one JSON object.

use super::{Design, Mix, Params, Question, Row, Search, Timed, independent};
use crate::measure::machine::Machine;
use model::coherence::Machine as Model;
use serde::Serialize;
use std::io::{self, Write};

/// Everything that was asked for.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The machine that the threads ran on.
    pub machine: Machine,
    /// The command line.
    pub command: String,
    /// The vector alone, then in its structure with what is done around it.
    pub tables: Vec<Table>,
    /// This machine's threads.
    pub threads: Vec<Timed>,
}

/// The layouts on one machine under one workload.
#[derive(Debug, Serialize)]
pub struct Table {
    /// The workload.
    pub workload: &'static str,
    /// CPUs of the modelled machine.
    pub cpus: usize,
    /// Whether the fields around the vector are used, too.
    pub around: bool,
    /// Whether operations are mixed access by access.
    pub interleaved: bool,
    /// A row a layout.
    pub rows: Vec<Row>,
}

impl Table {
    /// Models every layout.
    pub fn model(machine: Model, mix: Mix, around: bool, params: &Params) -> Self {
        let search = Search::All;
        let question = Question { machine, mix, search, params, around, interleaved: false };
        Self::of(question, Design::ALL.into_iter().filter(|design| design.is_for(mix)))
    }

    /// Models the layouts by level, the operations mixed access by access: to compare with the
    /// other model.
    pub fn mixed(machine: Model, mix: Mix, params: &Params) -> Self {
        let params = &Params { think: Vec::new(), ..params.clone() };
        let (search, around) = (Search::All, false);
        let question = Question { machine, mix, search, params, around, interleaved: true };
        Self::of(question, [Design::Packed, Design::Padded, Design::Split])
    }

    fn of(question: Question<'_>, designs: impl IntoIterator<Item = Design>) -> Self {
        Self {
            workload: question.mix.name(),
            cpus: question.machine.cpus(),
            around: question.around,
            interleaved: question.interleaved,
            rows: designs.into_iter().map(|design| design.row(question)).collect(),
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let around = if self.around { ", with the fields around it in use" } else { "" };
        writeln!(out, "\n{}, {} CPUs{around}", self.workload, self.cpus)?;
        writeln!(
            out,
            "  {:<20} {:>6} {:>6} {:>7} {:>7} {:>6} {:>6} {:>6} {:>6}  {:>26}  hottest line",
            "",
            "set",
            "find",
            "hottest",
            "inval",
            "across",
            "read",
            "lines",
            "around",
            "op/us; ns a set, a find"
        )?;
        for row in &self.rows {
            write!(
                out,
                "  {:<20} {:>6.2} {:>6.2} {:>7.3} {:>7.2} {:>6.2} {:>6.1} {:>6} {:>6.2} ",
                row.layout,
                row.set,
                row.find,
                row.hottest,
                row.invalidations,
                row.across,
                row.lines_read,
                row.lines,
                row.around
            )?;
            // The ceiling, and latencies where the machine is not full.
            let ceiling = row.clock.last().map_or(0.0, |(.., throughput)| *throughput);
            let (_, set, find, _) = row.clock.first().copied().unwrap_or_default();
            writeln!(out, " {ceiling:>10.1} {set:>8.0} {find:>6.0}  {}", row.hottest_name)?;
        }
        let spread = self.rows.iter().map(|row| row.spread).fold(0.0, f64::max);
        writeln!(out, "  seeds differ from their mean by {:.1} % at most", 100.0 * spread)
    }
}

/// `ByCpu` against `Padded`, in the same run.
fn ratios(tables: &[Table], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nPadded / ByCpu<64>, in this run")?;
    for table in tables.iter().filter(|table| !table.around && !table.interleaved) {
        let of = |layout: &str| table.rows.iter().find(|row| row.layout == layout);
        let (Some(padded), Some(by_cpu)) = (of("Padded"), of("ByCpu<64>")) else { continue };
        let ratio = |of: fn(&Row) -> f64| of(padded) / of(by_cpu);
        writeln!(
            out,
            "  {:<8} {:>3} CPUs  misses a set {:>5.1}x, a find {:>5.1}x, hottest line {:>5.1}x, \
             lines {} and {}",
            table.workload,
            table.cpus,
            ratio(|row| row.set),
            ratio(|row| row.find),
            ratio(|row| row.hottest),
            padded.lines,
            by_cpu.lines
        )?;
    }
    Ok(())
}

/// Prints everything.
///
/// # Errors
///
/// The output's.
pub fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", report.command)?;
    writeln!(
        out,
        "model: coherence misses of a set and of a find; transfers of the hottest line an \
         operation; copies that a set\n  invalidates; misses of a set that wait for another \
         socket; lines a find reads; lines of memory, all; misses\n  around the vector an \
         operation; the most operations a microsecond, and latencies at {} us of thinking",
        report
            .tables
            .first()
            .and_then(|table| table.rows.first())
            .map_or(0, |row| { row.clock.first().map_or(0, |(think, ..)| think / 1000) })
    )?;
    for table in report.tables.iter().filter(|table| !table.interleaved) {
        table.print(out)?;
    }
    ratios(&report.tables, out)?;
    independent::print(&report.tables, out)?;
    threads(report, out)
}

fn threads(report: &Report, out: &mut impl Write) -> io::Result<()> {
    if report.threads.is_empty() {
        return Ok(());
    }
    let machine = &report.machine;
    writeln!(
        out,
        "\nthis machine: {}, Linux {}, {} CPUs allowed; ns a set and a find, median [95 %]",
        machine.model,
        machine.kernel,
        machine.allowed.len()
    )?;
    for timed in &report.threads {
        let pair = timed.pair;
        writeln!(
            out,
            "  {:<20} {} thread{}  {:>7.1} [{:.1}, {:.1}]  {} rejected",
            timed.layout,
            timed.threads,
            if timed.threads == 1 { " " } else { "s" },
            pair.median,
            pair.lo,
            pair.hi,
            timed.rejected
        )?;
    }
    Ok(())
}
