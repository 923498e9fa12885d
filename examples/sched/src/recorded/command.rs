//! `sched trace`, done.

use super::args::RecordedArgs;
use super::compare::{Comparison, compare};
use super::groups::Grouping;
use super::seen::{Repairs, Schedule};
use super::text::{Bad, Recording};
use crate::cli::read;
use serde::Serialize;

/// The longest recording that is read: some two million events.
const LONGEST: u64 = 1 << 28;
/// The longest file of groups.
const LONGEST_GROUPS: u64 = 1 << 20;

/// Everything that is printed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The text's lines.
    pub lines: usize,
    /// Events that count, others, and those that stood after later ones.
    pub events: [usize; 3],
    /// Places where the recorder lost events.
    pub lost: usize,
    /// How many lines were not understood.
    pub bad: usize,
    /// The first of them.
    pub named: Vec<Bad>,
    /// CPUs.
    pub cpus: usize,
    /// Nanoseconds from the first event to the last.
    pub span: u64,
    /// Whether `sched_waking` stands for `sched_wakeup`.
    pub by_waking: bool,
    /// What was made good.
    pub repairs: Repairs,
    /// Whether a program's name is its group.
    pub by_name: bool,
    /// The figures.
    pub comparison: Comparison,
}

impl Report {
    /// Of a text of any bytes, naming so many bad lines.
    ///
    /// # Errors
    ///
    /// Why it cannot be compared.
    pub fn of(text: &[u8], grouping: &Grouping, args: &RecordedArgs) -> Result<Self, String> {
        // One line is said where nothing else is.
        let recording = Recording::read(text, args.bad.max(1));
        let schedule = Schedule::of(&recording);
        let comparison = compare(&schedule, grouping, args.mode).map_err(|error| {
            let first = recording.named.first().map_or_else(String::new, |bad| format!("; {bad}"));
            format!("{error}{first}")
        })?;
        Ok(Self {
            lines: recording.lines,
            events: [recording.told.len(), recording.others, recording.late],
            lost: recording.lost,
            bad: recording.bad,
            named: recording.named.into_iter().take(args.bad).collect(),
            cpus: schedule.cpus,
            span: schedule.span,
            by_waking: schedule.by_waking,
            repairs: schedule.repairs,
            by_name: grouping.is_by_name(),
            comparison,
        })
    }
}

/// Reads the files and compares.
///
/// # Errors
///
/// One line that says what is wrong with the input.
pub fn run(args: &RecordedArgs) -> Result<Report, String> {
    let grouping = match &args.groups {
        None => Grouping::by_name(),
        Some(file) => {
            let text = String::from_utf8_lossy(&read(file, LONGEST_GROUPS)?).into_owned();
            Grouping::parse(&text).map_err(|error| format!("{}: {error}", file.display()))?
        }
    };
    let text = read(&args.from, LONGEST)?;
    Report::of(&text, &grouping, args).map_err(|error| format!("{}: {error}", args.from.display()))
}
