//! Two results, case by case.

use crate::against;
use crate::result::{Case, Group, Report};
use benches::stats::Interval;
use std::fmt::Write;

/// What became of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Slower,
    Faster,
    /// The intervals meet, or the null pair differs by as much.
    Overlap,
}

/// A case in both results.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Change<'a> {
    group: &'a str,
    case: &'a Case,
    before: Interval,
    after: Interval,
    verdict: Verdict,
}

impl Change<'_> {
    /// Percent of the time before: of the medians, and the least and the most that the two intervals
    /// allow.
    fn percent(&self) -> Interval {
        let (before, after) = (self.before, self.after);
        let percent = |after: f64, before: f64| (after / before - 1.0) * 100.0;
        Interval {
            median: percent(after.median, before.median),
            lo: percent(after.lo, before.hi),
            hi: percent(after.hi, before.lo),
        }
    }
}

/// What is to be said about two results.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    changes: Vec<Change<'a>>,
    /// Cases of one result only: group, scene, peer.
    gone: Vec<String>,
    new: Vec<String>,
    /// Why the figures may not mean much.
    warnings: Vec<String>,
}

/// Compares `after` with `before`.
///
/// # Errors
///
/// If they have no case in common.
pub(crate) fn compare<'a>(before: &'a Report, after: &'a Report) -> Result<Comparison<'a>, String> {
    let mut changes = Vec::new();
    for now in &after.groups {
        let Some(then) = group(before, &now.name) else { continue };
        let by_chance = by_chance(then, now);
        for case in &now.cases {
            if let Some(old) = then.case(&case.scene, &case.peer) {
                let verdict = verdict(old.ns, case.ns, by_chance);
                let (group, before, after) = (now.name.as_str(), old.ns, case.ns);
                changes.push(Change { group, case, before, after, verdict });
            }
        }
    }
    if changes.is_empty() {
        return Err("the two results have no case in common".into());
    }
    let (gone, new) = (missing(before, after), missing(after, before));
    Ok(Comparison { changes, gone, new, warnings: warnings(before, after) })
}

fn group<'a>(report: &'a Report, name: &str) -> Option<&'a Group> {
    report.groups.iter().find(|group| group.name == name)
}

/// What the null pairs of either result differ by.
fn by_chance(before: &Group, after: &Group) -> f64 {
    [before, after].into_iter().filter_map(against::chance).fold(0.0, f64::max)
}

/// By the intervals, unless the medians differ no more than a case and its twin.
fn verdict(before: Interval, after: Interval, by_chance: f64) -> Verdict {
    let ratio = after.median / before.median;
    if after.lo > before.hi && ratio > 1.0 + by_chance {
        Verdict::Slower
    } else if after.hi < before.lo && ratio < 1.0 / (1.0 + by_chance) {
        Verdict::Faster
    } else {
        Verdict::Overlap
    }
}

/// What `of` has and `other` lacks.
fn missing(of: &Report, other: &Report) -> Vec<String> {
    let mut missing = Vec::new();
    for here in &of.groups {
        let there = group(other, &here.name);
        for Case { scene, peer, .. } in &here.cases {
            if there.is_none_or(|there| there.case(scene, peer).is_none()) {
                missing.push(format!("{}, {scene}, {peer}", here.name));
            }
        }
    }
    missing
}

fn warnings(before: &Report, after: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    for (what, one, other) in [
        ("machines", &before.machine, &after.machine),
        ("backends", &before.backend, &after.backend),
    ] {
        if one != other {
            warnings.push(format!("the {what} differ: {one} / {other}"));
        }
    }
    for report in [before, after] {
        let load = report.load[0].max(report.load[1]);
        if load > report.cpus as f64 {
            let (name, cpus) = (&report.name, report.cpus);
            warnings.push(format!("{name}: load {load:.1} on {cpus} CPUs"));
        }
        if report.quick {
            warnings.push(format!("{}: a quick run, which shows only that it works", report.name));
        }
    }
    warnings
}

impl Comparison<'_> {
    fn count(&self, verdict: Verdict) -> usize {
        self.changes.iter().filter(|change| change.verdict == verdict).count()
    }

    /// Whether some case got slower beyond both spreads.
    pub(crate) fn slower(&self) -> bool {
        self.count(Verdict::Slower) > 0
    }

    /// A Markdown table of all cases: the slower ones first, then the faster ones.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        self.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
        text +=
            "\n| group | scene | peer | before, ns | after, ns | change | interval | verdict |\n";
        text += "|---|---|---|--:|--:|--:|--:|---|\n";
        for verdict in [Verdict::Slower, Verdict::Faster, Verdict::Overlap] {
            for change in self.changes.iter().filter(|change| change.verdict == verdict) {
                let Change { group, case: Case { scene, peer, .. }, before, after, .. } = change;
                let Interval { median, lo, hi } = change.percent();
                let (before, after) = (before.median, after.median);
                let word = verdict.word();
                // Writing into a `String` cannot fail.
                let _ = writeln!(
                    text,
                    "| {group} | {scene} | {peer} | {before:.3} | {after:.3} | {median:+.1} % | \
                     {lo:+.1} to {hi:+.1} % | {word} |"
                );
            }
        }
        let [slower, faster, overlap] =
            [Verdict::Slower, Verdict::Faster, Verdict::Overlap].map(|v| self.count(v));
        text += &format!("\n{slower} slower, {faster} faster, {overlap} overlap\n");
        self.gone.iter().for_each(|case| text += &format!("only before: {case}\n"));
        self.new.iter().for_each(|case| text += &format!("only after: {case}\n"));
        text
    }
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Slower => "**slower**",
            Self::Faster => "faster",
            Self::Overlap => "overlap",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The fixture with one case of the first group a few times as slow.
    fn with(case: usize, factor: f64) -> Report {
        let mut report = fixture::report();
        let case = &mut report.groups[0].cases[case];
        let Interval { median, lo, hi } = &mut case.ns;
        [median, lo, hi].into_iter().for_each(|ns| *ns *= factor);
        case.samples.iter_mut().for_each(|ns| *ns *= factor);
        report
    }

    #[test]
    fn only_what_is_slower_beyond_both_spreads_fails() {
        let before = fixture::report();
        // Samples reach 10 % to both sides: 1.1 meets 1.3 * 0.9 not, but 1.2 * 0.9.
        for (factor, slower, faster) in
            [(1.0, 0, 0), (1.2, 0, 0), (1.3, 1, 0), (0.85, 0, 0), (0.7, 0, 1)]
        {
            let after = with(3, factor);
            let comparison = compare(&before, &after).expect("cases in common");
            let counts = [Verdict::Slower, Verdict::Faster].map(|v| comparison.count(v));
            assert_eq!(counts, [slower, faster], "{factor}");
            assert_eq!(comparison.slower(), slower > 0, "{factor}");
            // And the other way round.
            let back = compare(&after, &before).expect("cases in common");
            assert_eq!(back.count(Verdict::Slower), faster, "{factor}");
        }
    }

    #[test]
    fn a_change_that_the_null_pair_shows_too_is_no_change() {
        let before = fixture::report();
        // The twin of the first case is 1.5 times as slow, and so is the fourth case.
        let mut after = with(3, 1.5);
        after.groups[0].cases[1] = with(1, 1.5).groups[0].cases[1].clone();
        let comparison = compare(&before, &after).expect("cases in common");
        assert_eq!(comparison.count(Verdict::Slower), 0, "{}", comparison.markdown());
    }

    #[test]
    fn the_table_shows_change_interval_and_verdict_the_slower_ones_first() {
        let (before, mut after) = (fixture::report(), with(3, 1.5));
        after.machine = "another".into();
        after.load = [5.0, 1.0];
        after.groups[0].cases.remove(4);
        after.groups[1].cases[0].peer = "section, renamed".into();
        let text = compare(&before, &after).expect("cases in common").markdown();
        for line in [
            "warning: the machines differ: a machine that never was / another",
            "warning: fixture: load 5.0 on 2 CPUs",
            "|---|---|---|--:|--:|--:|--:|---|\n| add | 1 counter, 1 thread | ThreadLocal | 2.000 | \
             3.000 | +50.0 % | +22.7 to +83.3 % | **slower** |",
            "\n1 slower, 0 faster, 9 overlap\n",
            "only before: add, 1 counter, 1 thread, shared AtomicU64",
            "only before: sections, list, section\n",
            "only after: sections, list, section, renamed",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
    }

    #[test]
    fn results_without_a_common_case_are_an_error() {
        let (before, mut after) = (fixture::report(), fixture::report());
        after.groups.iter_mut().for_each(|group| group.name += "s");
        assert_eq!(
            compare(&before, &after).expect_err("nothing in common"),
            "the two results have no case in common"
        );
    }
}
