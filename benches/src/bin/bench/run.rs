//! The measurement of a report, and how long it will take.

use crate::args::Asked;
use crate::result::{Case, Events, FORMAT, Group, Reached, Report};
use benches::paired::{self, Step};
use benches::{cases, machine};
use humantime::{format_duration, format_rfc3339_seconds};
use std::fs;
use std::time::{Duration, Instant, SystemTime};

/// Measures what was asked for; progress goes to stderr.
///
/// # Panics
///
/// If the machine is so busy that no piece of a case passes undisturbed.
pub(crate) fn run(asked: &Asked) -> Report {
    let [machine, _, _] = machine::facts("");
    let (date, before) = (format_rfc3339_seconds(SystemTime::now()), load());
    let cpus = machine::cpus().len();
    machine::pin_first();
    let events = Events::open();
    eprintln!("events: {}", events.text());
    let options = &asked.options;
    let groups: Vec<_> = options
        .groups
        .iter()
        .map(|name| (name, cases::group(name).expect("checked by `parse`")))
        .collect();
    let cases = groups.iter().map(|(_, group)| group.list.len()).sum();
    let mut progress = Progress::new(cases, options.rounds);
    let mut results = Vec::new();
    for (name, group) in groups {
        let (baseline, goals) = (group.baseline.to_owned(), group.goals.clone());
        progress.begin(name, group.list.len());
        let outcomes = paired::measure_and_tell(group, options, |step| progress.step(step));
        let reached = paired::reached(goals, &outcomes);
        results.push(Group {
            rejected: outcomes.iter().map(|outcome| outcome.rejected).sum(),
            name: name.clone(),
            baseline,
            detours: machine::detours(),
            cases: outcomes.iter().map(Case::of).collect(),
            goals: reached.iter().map(|(goal, ratio)| Reached::of(goal, *ratio)).collect(),
        });
    }
    let backend = corelocal::backend();
    // The load has its own place, or no two runs would be on the same machine.
    let machine = machine.split(", load average").next().unwrap_or_default().to_owned();
    Report {
        format: FORMAT,
        name: asked.name.clone(),
        quick: asked.quick,
        date: date.to_string(),
        machine,
        cpus,
        load: [before, load()],
        backend: backend.to_string(),
        reason: backend.reason().to_string(),
        command: command(),
        rounds: options.rounds,
        seed: options.seed,
        seconds: progress.start.elapsed().as_secs(),
        rejected: results.iter().map(|group| group.rejected).sum(),
        events,
        anchor: cases::anchor_text(),
        groups: results,
    }
}

/// As one would type it.
fn command() -> String {
    let args: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo run --release -p benches --bin bench -- {}", args.join(" "))
}

/// The load average of one minute; 0 where the system tells none.
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// How far it is, in units of a piece.
struct Progress {
    start: Instant,
    /// Of the whole run.
    all: usize,
    rounds: usize,
    /// Units of the groups before this one, and of the steps of this one.
    before: usize,
    within: usize,
    name: String,
    cases: usize,
    told: Instant,
}

/// A preparation calibrates, which takes about as long as so many pieces.
const PREPARATION: usize = 30;
/// No two lines in less.
const PAUSE: Duration = Duration::from_secs(2);

impl Progress {
    fn new(cases: usize, rounds: usize) -> Self {
        let (start, all) = (Instant::now(), cases * (PREPARATION + rounds));
        let name = String::new();
        Self { start, all, rounds, before: 0, within: 0, name, cases: 0, told: start }
    }

    fn begin(&mut self, name: &str, cases: usize) {
        self.before += self.cases * (PREPARATION + self.rounds);
        (self.within, self.cases) = (0, cases);
        self.name.clear();
        self.name.push_str(name);
        self.tell();
    }

    fn step(&mut self, step: Step) {
        self.within = match step {
            Step::Prepared => self.within + PREPARATION,
            Step::Rounds(rounds) => self.cases * (PREPARATION + rounds),
        };
        if self.told.elapsed() >= PAUSE {
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.told = Instant::now();
        let done = (self.before + self.within) as f64 / self.all as f64;
        eprintln!("{}", line(&self.name, done, self.start.elapsed()));
    }
}

/// What is told when a share of the work took so long.
fn line(group: &str, done: f64, took: Duration) -> String {
    if done < 0.01 {
        return format!("{:3.0} %  {group}", done * 100.0);
    }
    let left = took.mul_f64((1.0 - done) / done).as_secs();
    format!(
        "{:3.0} %  {group}, about {} left",
        done * 100.0,
        format_duration(Duration::from_secs(left))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_what_is_done() {
        let took = Duration::from_secs(60);
        assert_eq!(line("add", 0.001, took), "  0 %  add");
        assert_eq!(line("add", 0.25, took), " 25 %  add, about 3m left");
        assert_eq!(line("add", 1.0, took), "100 %  add, about 0s left");
    }

    #[test]
    fn all_steps_together_are_the_whole() {
        let mut progress = Progress::new(5, 9);
        for (name, cases) in [("add", 2), ("sum", 3)] {
            progress.begin(name, cases);
            (0..cases).for_each(|_| progress.step(Step::Prepared));
            (1..=9).for_each(|round| progress.step(Step::Rounds(round)));
        }
        assert_eq!(progress.before + progress.within, progress.all);
    }
}
