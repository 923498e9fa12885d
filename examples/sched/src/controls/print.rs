//! The table for people.

use super::{GROUPS, Results, SUBJECTS, TASKS};
use crate::measure::machine::Machine;
use crate::measure::stats::Estimate;
use std::io::{self, Write};

/// Prints what was measured.
///
/// # Errors
///
/// The output's.
pub fn print(
    results: &Results,
    machine: &Machine,
    command: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "{command}\n{}, Linux {}\n{GROUPS} groups below the root, {TASKS} tasks, one CPU. Wall time of \
         work and scheduler model together, median of {} rounds\n[{:.1} %]; \"overlap\" where the \
         interval has a value in common with L0's. L0-null is L0 once more.",
        machine.model, machine.kernel, results.config.rounds, results.confidence
    )?;
    for table in &results.tables {
        writeln!(out, "\n{}: {}", table.control, table.step)?;
        writeln!(out, "  {:<11} {:>28} {:>28}", "", "ns a step", "to L0, %")?;
        for row in &table.rows {
            let interval = |of: &Estimate| format!("{:.0} [{:.0}, {:.0}]", of.median, of.lo, of.hi);
            write!(out, "  {:<11} {:>28}", row.subject, interval(&row.ns))?;
            let [median, lo, hi] =
                [row.change.median, row.change.lo, row.change.hi].map(|change| 100.0 * change);
            let verdict = match row.overlap {
                true => "overlap",
                false => "no overlap",
            };
            match SUBJECTS.iter().position(|subject| *subject == row.subject) {
                Some(0) => writeln!(out, " {:>28}", format!("{median:+.1}"))?,
                Some(1) => writeln!(out)?,
                _ => writeln!(
                    out,
                    " {:>28}   {verdict}",
                    format!("{median:+.2} [{lo:+.2}, {hi:+.2}]")
                )?,
            }
        }
    }
    writeln!(
        out,
        "\n{} samples were thrown away because the thread was switched out, {} kept all the same",
        results.rejected, results.disturbed
    )
}
