//! The summary, for a README.

use crate::against::{self, Against, Beside, Standing};
use crate::result::{Group, Report};
use benches::cases::named::NAMED;
use benches::table::digits;
use std::fmt::Write;

/// What was measured where, this crate against the best peer in a table, and every case below it.
///
/// Writing into a `String` cannot fail, hence the ignored results.
pub(crate) fn summary(report: &Report) -> String {
    let Report {
        command,
        date,
        machine,
        backend,
        reason,
        rounds,
        load,
        rejected,
        events,
        anchor,
        ..
    } = report;
    let mut text = String::new();
    if report.quick {
        text += "**A quick run, which shows only that it works: no figure means anything.**\n\n";
    }
    let [before, after] = load;
    let _ = writeln!(
        text,
        "`{command}`, {date}, {machine}, load {before} to {after}, backend {backend} ({reason}). \
         Medians of {rounds} interleaved rounds. The ratios are our time in that of the fastest peer of \
         the same scene, whoever that is: below 1 this crate is ahead, **above 1 it is behind**, and \
         level where the 95 % interval holds 1. A null pair is one case under two names. {rejected} \
         preempted pieces were rejected and measured again. Events of the \
         processor: {}. C anchor: {anchor}.",
        events.text()
    );
    overview(report, &mut text);
    named(report, &mut text);
    text += "\n<details><summary>every case against the best peer</summary>\n";
    report.groups.iter().for_each(|group| section(group, &mut text));
    text + "\n</details>\n"
}

/// A row a group, with both ends.
fn overview(report: &Report, text: &mut String) {
    *text += "\n| group | ahead | level | behind | furthest ahead | furthest behind | goals held \
              | null pair off by | rejected |\n|---|--:|--:|--:|---|---|--:|--:|--:|\n";
    for group in &report.groups {
        let mut against = against::all(group);
        against.sort_by(|one, other| one.ratio.median.total_cmp(&other.ratio.median));
        let count = |standing| against.iter().filter(|row| row.standing() == standing).count();
        let [ahead, level, behind] =
            [Standing::Ahead, Standing::Level, Standing::Behind].map(count);
        let end = |row: Option<&Against<'_>>, standing| {
            row.filter(|row| row.standing() == standing).map_or_else(String::new, |row| {
                let ratio = digits(row.ratio.median);
                let names = [&row.own.peer, &row.own.scene, &row.peer.peer].map(|name| cell(name));
                let [own, scene, peer] = names;
                format!("{ratio}: {own}, {scene} ({peer})")
            })
        };
        let best = end(against.first(), Standing::Ahead);
        let worst = end(against.last(), Standing::Behind);
        let held = group.goals.iter().filter(|goal| goal.held).count();
        let goals = match group.goals.len() {
            0 => String::new(),
            goals => format!("{held} of {goals}"),
        };
        let _ = writeln!(
            text,
            "| {} | {ahead} | {level} | {behind} | {best} | {worst} | {goals} | {} | {} |",
            cell(&group.name),
            chance(group),
            group.rejected,
        );
    }
}

/// A row a named peer and group that it is in.
fn named(report: &Report, text: &mut String) {
    *text += "\n<details><summary>every named peer</summary>\n\nOur time in the peer's, over all our \
              cases of all scenes that it is in.\n\n| peer | group | called | least | most | ahead | \
              level | behind |\n|---|---|---|--:|--:|--:|--:|--:|\n";
    let row = |name: &str, row: Beside<'_>| {
        let (least, most) = row.range()?;
        let counts = [Standing::Ahead, Standing::Level, Standing::Behind].map(|s| row.count(s));
        let ([ahead, level, behind], [least, most]) = (counts, [least, most].map(digits));
        let [name, group, peer] = [name, row.group, row.peer].map(cell);
        Some(format!(
            "| {name} | {group} | {peer} | {least} | {most} | {ahead} | {level} | {behind} |\n"
        ))
    };
    for named in NAMED {
        let rows = against::beside(report, named).into_iter();
        *text += &rows.filter_map(|one| row(named.name, one)).collect::<String>();
    }
    *text += "\n";
    for named in NAMED.iter().filter(|named| named.measured.is_empty()) {
        let _ = writeln!(text, "* {}: not measured. {}", cell(named.name), cell(named.reason));
    }
    *text += "\n</details>\n";
}

/// The largest difference of the null pairs.
fn chance(group: &Group) -> String {
    against::chance(group).map_or_else(String::new, |off| format!("{:.1} %", off * 100.0))
}

/// One group, row by row.
fn section(group: &Group, text: &mut String) {
    let against = against::all(group);
    let _ = write!(text, "\n### {}\n\n", cell(&group.name));
    if against.is_empty() {
        *text += "No peer does what this group measures.\n";
    } else {
        *text += "| scene | ours | ns | best peer | ns | times the best peer |\n";
        *text += "|---|---|--:|---|--:|--:|\n";
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
    *text += "\n";
    for goal in &group.goals {
        let (what, answer, ratio) = (cell(&goal.text()), goal.answer(), digits(goal.ratio.median));
        let _ = writeln!(text, "* goal, {answer}: {what}; reached {ratio}");
    }
    let rejected = group.rejected;
    let _ = writeln!(text, "* {rejected} preempted pieces rejected");
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
