//! Tables for people.

use super::cost::{ALL, ByDepth, Costs, Row};
use super::latency::CPUS;
use super::{Report, Simulated, Timed, frames};
use crate::measure::stats::Estimate;
use std::io::{self, Write};

/// Prints everything: first what is the same each time, then what was timed.
///
/// # Errors
///
/// The output's.
pub fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    simulated(&report.simulated, report.seed, out)?;
    match &report.timed {
        None => Ok(()),
        Some(timed) => costs(timed, out),
    }
}

fn simulated(simulated: &Simulated, seed: u64, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "In virtual time, {} s a run, seed {seed}. Ticks of 1 ms, slices of 3 ms unless said; \
         switching costs nothing.\nIt shows what the rules do to these loads. The signs may differ \
         from a kernel's, where waking, switching and\nbalancing cost time; another seed moves the \
         tails.",
        simulated.seconds
    )?;
    writeln!(
        out,
        "\nwake-up latency, us: workers woken by messengers in groups 3 deep, spinners beside them, \
         {CPUS} CPUs\n  {:<14} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "", "workers", "wake-ups", "p50", "p99", "p99.9"
    )?;
    for row in &simulated.latencies {
        let [half, most, nearly_all] = row.us;
        writeln!(
            out,
            "  {:<14} {:>7} {:>9} {half:>9.1} {most:>9.1} {nearly_all:>9.1}",
            row.picker, row.threads, row.wakeups
        )?;
    }
    writeln!(
        out,
        "\nframe time, ms: one 60 Hz task against {} spinners in a group of equal weight, 1 CPU\n  \
         {:<14} {:>8} {:>7} {:>8} {:>8} {:>8}",
        frames::SPINNERS,
        "",
        "slice",
        "frames",
        "min",
        "avg",
        "max"
    )?;
    for row in &simulated.frames {
        let [least, mean, most] = row.ms;
        let slice = if row.short { "0.1 ms" } else { "default" };
        writeln!(
            out,
            "  {:<14} {slice:>8} {:>7} {least:>8.2} {mean:>8.2} {most:>8.2}",
            row.picker, row.frames
        )?;
    }
    writeln!(out, "\nservice against what is due, groups whose tasks sleep and weights change")?;
    for course in &simulated.courses {
        writeln!(out, "  {:<14} at most {:.2} ms apart", course.picker, course.worst())?;
    }
    Ok(())
}

fn costs(timed: &Timed, out: &mut impl Write) -> io::Result<()> {
    let Timed { machine, command, costs } = timed;
    writeln!(out, "\n{command}\n{}, Linux {}", machine.model, machine.kernel)?;
    writeln!(
        out,
        "ns an operation of this code, median of {} rounds [95 %], by depth; a + b x depth is \
         fitted in each round.\nIt is this library's cost with delayed dequeue off, without the \
         kernel's load averages, locks and switches:\nthe signs may differ from a kernel's.",
        costs.plan.rounds
    )?;
    for &width in &costs.plan.widths {
        writeln!(out, "\n{width} group{} in each group", if width == 1 { "" } else { "s" })?;
        header(costs, out)?;
        for row in costs.rows.iter().filter(|row| row.width == width) {
            if row.operation == super::cost::OPERATIONS[0] {
                writeln!(out, "  {} task{}", row.tasks, if row.tasks == 1 { "" } else { "s" })?;
            }
            line(row.operation, "hierarchical", &row.hierarchical, out)?;
            line("", "flat", &row.flat, out)?;
        }
        changes(costs, width, out)?;
    }
    writeln!(
        out,
        "\n{} samples were thrown away because the thread was switched out, {} kept all the same",
        costs.rejected, costs.disturbed
    )
}

fn header(costs: &Costs, out: &mut impl Write) -> io::Result<()> {
    write!(out, "    {:<9} {:<12}", "", "depth")?;
    for depth in &costs.plan.depths {
        write!(out, " {depth:>7}")?;
    }
    writeln!(out, "   {:>24} {:>24}", "a", "b")
}

fn line(operation: &str, picker: &str, of: &ByDepth, out: &mut impl Write) -> io::Result<()> {
    write!(out, "    {operation:<9} {picker:<12}")?;
    for ns in &of.ns {
        write!(out, " {:>7.1}", ns.median)?;
    }
    let interval = |of: &Estimate| format!("{:.1} [{:.1}, {:.1}]", of.median, of.lo, of.hi);
    writeln!(out, "   {:>24} {:>24}", interval(&of.a), interval(&of.b))
}

/// All four operations: how flat compares, by tasks and depth.
fn changes(costs: &Costs, width: u32, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  {ALL}, flat / hierarchical - 1, % [95 %]")?;
    write!(out, "    {:<9}", "tasks")?;
    for depth in &costs.plan.depths {
        write!(out, " {:>26}", format!("depth {depth}"))?;
    }
    writeln!(out)?;
    let of_all = |row: &&Row| row.width == width && row.operation == ALL;
    for row in costs.rows.iter().filter(of_all) {
        write!(out, "    {:<9}", row.tasks)?;
        for Estimate { median, lo, hi } in &row.change {
            let [median, lo, hi] = [median, lo, hi].map(|change| 100.0 * change);
            write!(out, " {:>26}", format!("{median:+.1} [{lo:+.1}, {hi:+.1}]"))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
