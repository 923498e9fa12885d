//! The table for people.

use super::command::Report;
use super::compare::{DECIDERS, Figures, Row};
use std::io::{self, Write};

/// Prints what was read and how it compares; of the groups, the first `top`.
///
/// # Errors
///
/// The output's.
pub fn print(report: &Report, top: usize, out: &mut impl Write) -> io::Result<()> {
    read(report, out)?;
    let comparison = &report.comparison;
    let groups = match report.by_name {
        true => "a group for each program's name, all of one weight",
        false => "as given",
    };
    writeln!(
        out,
        "\nGroups: {groups}; policy {}.\nThe model gets the recording's wake-ups and moves: at each \
         wake-up a task wants the service that it got until its\nnext sleep, on the CPU where it was; \
         who was awake at the end wants more without end. Nobody wakes sooner\nbecause others were \
         served sooner, and switching costs nothing. Of what is due, 100 % is each CPU divided\n\
         continuously among who is runnable there.\n",
        comparison.mode
    )?;
    writeln!(
        out,
        "{:<24} {:>5} {:<12} {:>10} {:>10} {:>8} {:>10} {:>10} {:>10} {:>8}",
        "group",
        "tasks",
        "",
        "run ms",
        "wait ms",
        "wake-ups",
        "p50 us",
        "p99 us",
        "max us",
        "got/due"
    )?;
    row(&comparison.all, out)?;
    for one in comparison.groups.iter().take(top) {
        row(one, out)?;
    }
    let more = comparison.groups.len().saturating_sub(top);
    if more > 0 {
        writeln!(out, "{more} more groups that waited less; --top {} shows all", top + more)?;
    }
    for path in &comparison.unused {
        writeln!(out, "{path} was given a weight, and no task is in it")?;
    }
    Ok(())
}

fn read(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let [events, others, late] = report.events;
    writeln!(
        out,
        "{} lines: {events} events in {:.3} ms on {} CPUs, {others} of other kinds, {} lines not \
         understood",
        report.lines,
        ms(report.span),
        report.cpus,
        report.bad
    )?;
    for bad in &report.named {
        writeln!(out, "  {bad}")?;
    }
    if report.bad > report.named.len() {
        writeln!(out, "  and {} more", report.bad - report.named.len())?;
    }
    let repairs = &report.repairs;
    let mut note = |count: usize, what: &str| match count {
        0 => Ok(()),
        count => writeln!(out, "  {count} {what}"),
    };
    note(late, "events stood after later ones, and were put in order")?;
    note(report.lost, "times the recorder lost events: figures are too low")?;
    note(repairs.unseen_wakeups, "wake-ups were not seen: who ran then woke at that moment")?;
    note(repairs.mismatches, "switches do not fit what was seen before: lines are missing")?;
    if repairs.real_time > 0 {
        writeln!(
            out,
            "  {} tasks of real-time priority are left out, which ran {:.3} ms",
            repairs.real_time,
            ms(repairs.real_time_ns)
        )?;
    }
    if report.by_waking {
        writeln!(out, "  there is no sched_wakeup: sched_waking is the wake-up")?;
    }
    Ok(())
}

fn row(row: &Row, out: &mut impl Write) -> io::Result<()> {
    for (at, (decider, figures)) in DECIDERS.iter().zip(&row.figures).enumerate() {
        let Figures { run, due, wait, wakeups, latency } = figures;
        match at {
            0 => write!(out, "{:<24} {:>5}", row.group.escape_debug().to_string(), row.tasks)?,
            _ => write!(out, "{:<30}", "")?,
        }
        let fair =
            if *due > 0.0 { format!("{:.1} %", 100.0 * *run as f64 / due) } else { "-".into() };
        let [half, most, longest] = latency.map(|ns| ns as f64 / 1e3);
        writeln!(
            out,
            " {decider:<12} {:>10.3} {:>10.3} {wakeups:>8} {half:>10.1} {most:>10.1} {longest:>10.1} \
             {fair:>8}",
            ms(*run),
            ms(*wait)
        )?;
    }
    Ok(())
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
