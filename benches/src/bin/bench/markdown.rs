//! The summary, for a README.

use crate::against::{self, Standing};
use crate::plot::digits;
use crate::result::Report;
use std::fmt::Write;

/// What was measured where, and a table a group: this crate against the best peer.
///
/// Writing into a `String` cannot fail, hence the ignored results.
pub(crate) fn summary(report: &Report) -> String {
    let Report { command, date, machine, backend, reason, rounds, load, .. } = report;
    let mut text = String::new();
    if report.quick {
        text += "**A quick run, which shows only that it works: no figure means anything.**\n\n";
    }
    let [before, after] = load;
    let _ = write!(
        text,
        "`{command}`, {date}, {machine}, load {before} to {after}, backend {backend} ({reason}). \
         Nanoseconds an operation, medians of {rounds} interleaved rounds. The last column is our time in \
         that of the fastest peer of the row, with its 95 % interval: below 1 this crate is ahead, \
         **above 1 it is behind**.\n"
    );
    for group in &report.groups {
        let against = against::all(group);
        let _ = write!(text, "\n### {}\n\n", group.name);
        if against.is_empty() {
            text += "No peer does what this group measures.\n";
        } else {
            text += "| scene | ours | ns | best peer | ns | times the best peer |\n";
            text += "|---|---|--:|---|--:|--:|\n";
        }
        for row in &against {
            let (own, peer, ratio) = (row.own, row.peer, row.ratio);
            let bold = if row.standing() == Standing::Behind { "**" } else { "" };
            let [own_ns, peer_ns] = [own, peer].map(|case| digits(case.ns.median));
            let [median, lo, hi] = [ratio.median, ratio.lo, ratio.hi].map(digits);
            let [scene, own, peer] = [&own.scene, &own.peer, &peer.peer].map(|name| cell(name));
            let _ = writeln!(
                text,
                "| {scene} | {own} | {own_ns} | {peer} | {peer_ns} | {bold}{median}{bold} [{lo}, {hi}] |"
            );
        }
        text += "\n";
        for goal in &group.goals {
            let (what, answer, ratio) =
                (cell(&goal.text()), goal.answer(), digits(goal.ratio.median));
            let _ = writeln!(text, "* goal, {answer}: {what}; reached {ratio}");
        }
        let rejected: u64 = group.cases.iter().map(|case| case.rejected).sum();
        let null = against::chance(group)
            .map_or_else(String::new, |off| format!("; null pair off by {:.1} %", off * 100.0));
        let _ = writeln!(text, "* {rejected} preempted pieces rejected{null}");
    }
    text
}

/// A name that may contain what Markdown or a table of it takes for its own.
fn cell(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if "\\|<>*_[]`".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_summary_of_a_fixed_result_is_the_golden_file() {
        fixture::golden("fixture.md", &summary(&fixture::report()));
    }

    #[test]
    fn a_quick_run_says_that_it_means_nothing() {
        let mut report = fixture::report();
        report.quick = true;
        assert!(summary(&report).starts_with("**A quick run"));
    }
}
