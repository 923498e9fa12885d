//! What a run gave: kept as JSON, and read again.

use benches::cases::Goal;
use benches::events;
use benches::paired::Outcome;
use benches::stats::Interval;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The version of the file. A reader refuses others.
pub(crate) const FORMAT: u32 = 1;

/// A run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    pub(crate) format: u32,
    pub(crate) name: String,
    /// Whether it was only to show that it works.
    pub(crate) quick: bool,
    /// When it began, in UTC.
    pub(crate) date: String,
    pub(crate) machine: String,
    pub(crate) cpus: usize,
    /// Load averages of one minute, before and after.
    pub(crate) load: [f64; 2],
    pub(crate) backend: String,
    /// Why this backend.
    pub(crate) reason: String,
    pub(crate) command: String,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
    pub(crate) seconds: u64,
    /// Preempted pieces of all groups.
    #[serde(default)]
    pub(crate) rejected: u64,
    #[serde(default)]
    pub(crate) events: Events,
    /// What is measured of C, or why nothing is.
    #[serde(default)]
    pub(crate) anchor: String,
    pub(crate) groups: Vec<Group>,
}

/// What the processor counted.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Events {
    /// In the order that the cases have them in; none where none could be counted.
    pub(crate) names: Vec<String>,
    /// Why there is none; else empty.
    pub(crate) missing: String,
}

/// The cases of a group.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) baseline: String,
    /// Aborts and spills of the process so far.
    pub(crate) detours: String,
    /// Preempted pieces of all cases.
    #[serde(default)]
    pub(crate) rejected: u64,
    pub(crate) cases: Vec<Case>,
    pub(crate) goals: Vec<Reached>,
}

/// A peer in a scene.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) scene: String,
    pub(crate) peer: String,
    pub(crate) role: Role,
    /// Nanoseconds an operation.
    pub(crate) ns: Interval,
    /// Pieces in which a thread was preempted: not among the samples.
    pub(crate) rejected: u64,
    /// Nanoseconds an operation, a round each.
    pub(crate) samples: Vec<f64>,
    /// How often each event came in an operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) events: Vec<f64>,
}

/// What a case is in the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// This crate.
    Ours,
    /// A case a second time: what differs there differs by chance.
    Null,
    /// Less than is asked for, or wrong: what a right answer cannot be faster than.
    Floor,
    /// What a user would pick instead.
    Peer,
}

/// A goal, and what was reached.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reached {
    /// Scene and peer.
    pub(crate) own: [String; 2],
    /// Scene and peer that it is compared with.
    pub(crate) than: [String; 2],
    pub(crate) most: f64,
    pub(crate) ratio: Interval,
    /// By the median.
    pub(crate) held: bool,
}

impl Reached {
    pub(crate) fn of(goal: &Goal, ratio: Interval) -> Self {
        let names = |(scene, peer): &(String, &str)| [scene.clone(), (*peer).to_owned()];
        let held = ratio.median <= goal.most;
        Self { own: names(&goal.own), than: names(&goal.than), most: goal.most, ratio, held }
    }

    /// Whether the interval holds the opposite answer too.
    pub(crate) fn within_noise(&self) -> bool {
        self.ratio.lo <= self.most && self.most < self.ratio.hi
    }

    /// As a sentence without a verb.
    pub(crate) fn text(&self) -> String {
        let ([scene, own], [other, than], most) = (&self.own, &self.than, self.most);
        let of = if scene == other { String::new() } else { format!(" of {other}") };
        format!("{scene}: {own} at most {most:.2} times {than}{of}")
    }

    /// The answer in words.
    pub(crate) fn answer(&self) -> &'static str {
        match (self.held, self.within_noise()) {
            (true, false) => "held",
            (true, true) => "held, within the noise",
            (false, true) => "not held, within the noise",
            (false, false) => "not held",
        }
    }
}

impl Events {
    /// Opens them on this thread, or says why not.
    pub(crate) fn open() -> Self {
        let missing = events::open().err().unwrap_or_default();
        Self { names: events::names().into_iter().map(String::from).collect(), missing }
    }

    /// In a line.
    pub(crate) fn text(&self) -> String {
        match (self.names.is_empty(), self.missing.is_empty()) {
            (false, _) => {
                format!("{}, each operation, user code of one thread", self.names.join(", "))
            }
            (true, false) => format!("none: {}", self.missing),
            (true, true) => "not asked for".into(),
        }
    }
}

impl Case {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        Self {
            scene: outcome.scene.clone(),
            peer: outcome.peer.to_owned(),
            role: Role::of(outcome.peer),
            ns: outcome.ns,
            rejected: outcome.rejected,
            samples: outcome.samples.clone(),
            events: outcome.events.clone(),
        }
    }
}

impl Group {
    /// The scenes, in order.
    pub(crate) fn scenes(&self) -> Vec<&str> {
        let mut seen: Vec<&str> = Vec::new();
        for case in &self.cases {
            if !seen.contains(&case.scene.as_str()) {
                seen.push(&case.scene);
            }
        }
        seen
    }

    /// The cases of a scene, in order.
    pub(crate) fn of_scene<'a>(&'a self, scene: &'a str) -> impl Iterator<Item = &'a Case> {
        self.cases.iter().filter(move |case| case.scene == scene)
    }

    /// A case by its names.
    pub(crate) fn case(&self, scene: &str, peer: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.scene == scene && case.peer == peer)
    }
}

impl Role {
    /// By the peer's name. What is not known to be ours or a floor is a peer.
    pub(crate) fn of(peer: &str) -> Self {
        /// What a case of ours is called, or begins with.
        const OURS: [&str; 12] = [
            "PerCpu",
            "AtomicPerCpu",
            "per_cpu!",
            "CpuId::current",
            "Static",
            "CounterSet",
            "BatchedCounter",
            "section",
            "ByCpu",
            "Packed",
            "Padded",
            "Split",
        ];
        const FLOORS: [&str; 7] = [
            "empty loop",
            "locked add",
            "plain add",
            "two PerCpuCell adds",
            "PerCpuCell inc + dec",
            "PerCpu, made and dropped",
            "floor",
        ];
        let begins = |names: &[&str]| names.iter().any(|name| peer.starts_with(name));
        match peer {
            _ if peer.ends_with("again") => Self::Null,
            _ if peer.contains("(wrong)") || begins(&FLOORS) => Self::Floor,
            _ if begins(&OURS) => Self::Ours,
            _ => Self::Peer,
        }
    }
}

impl Report {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// One line that names the file, what is wrong and what would be right.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let at = path.display();
        let text = fs::read_to_string(path).map_err(|error| format!("{at}: {error}"))?;
        Self::parse(&text).map_err(|wrong| format!("{at}: {wrong}"))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// A line that says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // Before the rest, which another format may have other names for.
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let no_result = |error| format!("not a result of `bench report`: {error}");
        let Version { format } = serde_json::from_str(text).map_err(no_result)?;
        if format != FORMAT {
            return Err(format!("format {format}: this program reads format {FORMAT}"));
        }
        let report: Self = serde_json::from_str(text).map_err(no_result)?;
        report.checked()
    }

    fn checked(mut self) -> Result<Self, String> {
        // Older files have them for the cases only.
        for group in &mut self.groups {
            group.rejected = group.cases.iter().map(|case| case.rejected).sum();
        }
        self.rejected = self.groups.iter().map(|group| group.rejected).sum();
        for group in &self.groups {
            for case in &group.cases {
                let Interval { lo, median, hi } = case.ns;
                if !(0.0 < lo && lo <= median && median <= hi) {
                    let (group, Case { scene, peer, .. }) = (&group.name, case);
                    return Err(format!(
                        "{group}, {scene}, {peer}: {lo} <= {median} <= {hi} must hold, above 0"
                    ));
                }
            }
        }
        Ok(self)
    }

    /// The text of a file: a line a case, so that a change shows as one.
    pub(crate) fn to_json(&self) -> String {
        let json = |value: serde_json::Result<String>| value.expect("strings and finite numbers");
        let head = Self { groups: Vec::new(), ..self.clone() };
        let head = json(serde_json::to_string_pretty(&head));
        let head = head.strip_suffix("[]\n}").expect("the groups come last").to_owned();
        let groups = self.groups.iter().map(|group| {
            let lines = |lines: Vec<String>| match lines.is_empty() {
                true => String::from("[]"),
                false => format!("[\n   {}\n  ]", lines.join(",\n   ")),
            };
            let Group { name, baseline, detours, rejected, cases, goals } = group;
            let text = |text| json(serde_json::to_string(text));
            let cases = cases.iter().map(|case| json(serde_json::to_string(case)));
            let goals = goals.iter().map(|goal| json(serde_json::to_string(goal)));
            format!(
                "\n {{\n  \"name\": {},\n  \"baseline\": {},\n  \"detours\": {},\n  \"rejected\": {rejected},\n  \
                 \"cases\": {},\n  \"goals\": {}\n }}",
                text(name),
                text(baseline),
                text(detours),
                lines(cases.collect()),
                lines(goals.collect()),
            )
        });
        format!("{head}[{}\n]\n}}\n", groups.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use benches::cases;

    #[test]
    fn what_was_written_is_read_again_to_the_last_bit() {
        let report = fixture::report();
        assert_eq!(Report::parse(&report.to_json()), Ok(report));
        let mut odd = fixture::report();
        odd.groups[0].cases[0].samples = vec![0.1 + 0.2, 1.0 / 3.0, 1e300];
        odd.groups[1].goals.clear();
        odd.groups[0].cases[1].events = vec![0.1 + 0.2, 7.0];
        odd.events.names = vec!["cycles".into(), "misses".into()];
        odd.name = "a \"quoted\" \\ name\n".into();
        assert_eq!(Report::parse(&odd.to_json()), Ok(odd));
        let none = Report { groups: Vec::new(), rejected: 0, ..fixture::report() };
        assert_eq!(Report::parse(&none.to_json()), Ok(none));
    }

    #[test]
    fn the_file_of_a_fixed_result_is_the_golden_file() {
        fixture::golden("fixture.json", &fixture::report().to_json());
    }

    #[test]
    fn a_result_without_totals_gets_them() {
        let report = fixture::report();
        let old: String = (report.to_json().lines())
            .filter(|line| !line.trim_start().starts_with("\"rejected\""))
            .collect();
        assert_eq!(Report::parse(&old), Ok(report));
    }

    #[test]
    fn a_file_that_is_no_result_is_named_in_one_line() {
        let good = fixture::report().to_json();
        for (text, word) in [
            (String::new(), "not a result"),
            ("{\"machine\":1}".into(), "missing field `format`"),
            (
                good.replace("\"format\": 1", "\"format\": 7"),
                "format 7: this program reads format 1",
            ),
            (good.replace("\"seed\"", "\"sead\""), "sead"),
            (good.replacen("\"lo\":0.9", "\"lo\":9.9", 1), "9.9 <= 1 <= 1.1 must hold"),
            (good[..good.len() / 2].to_owned(), "not a result"),
        ] {
            let wrong = Report::parse(&text).expect_err(word);
            assert!(wrong.contains(word) && !wrong.contains('\n'), "{wrong}");
        }
        let wrong = Report::read(Path::new("no/such.json")).expect_err("not there");
        assert!(wrong.starts_with("no/such.json: "), "{wrong}");
    }

    #[test]
    fn every_group_has_something_of_ours_and_nothing_of_ours_counts_as_a_peer() {
        for name in cases::GROUPS {
            let list = cases::group(name).expect("a group").list;
            let peers =
                |role| list.iter().map(|case| case.peer()).filter(move |p| Role::of(p) == role);
            assert!(peers(Role::Ours).count() > 0, "{name}");
            for peer in peers(Role::Peer) {
                assert!(!peer.contains("PerCpu"), "{name}: {peer}");
            }
        }
        for (peer, role) in [
            ("PerCpu", Role::Ours),
            ("PerCpu, uninit, again", Role::Null),
            ("PerCpu (wrong)", Role::Floor),
            ("locked add by id", Role::Floor),
            ("CachePadded[CpuId::current]", Role::Peer),
            ("boxes, 3 an object", Role::Peer),
        ] {
            assert_eq!(Role::of(peer), role, "{peer}");
        }
    }
}
