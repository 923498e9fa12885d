//! Recorded schedules, as `sched trace --from` reads them, and the file of groups beside them.

use crate::files::SEPARATOR;
use crate::memory::within;
use sched::pick::policy::CgroupMode;
use sched::recorded::{Comparison, Grouping, Recording, Schedule, compare};

/// Bad lines that are kept.
const NAMED: usize = 3;
/// Ticks of all CPUs, and groups times CPUs times events, that are simulated here: the program does
/// a thousand times as many.
const TICKS: u64 = 2000;
const DUE: usize = 200_000;

/// Reads `input` as a recording, with a file of groups before it if there is a separator; compares it
/// with the model if that takes milliseconds.
///
/// # Panics
///
/// If more than 64 times the text and 64 KiB are taken from the heap to read it, if what was read
/// contradicts itself, or if a group gets more than there is.
pub fn traces(input: &[u8]) {
    let mut parts = input.splitn(2, |byte| *byte == SEPARATOR);
    let (first, second) = (parts.next().unwrap_or(&[]), parts.next());
    let (grouping, text) = match second {
        None => (Grouping::by_name(), first),
        Some(text) => match groups(first) {
            Some(grouping) => (grouping, text),
            None => return,
        },
    };
    // The shortest event has 38 bytes, and its two names are texts of their own.
    let (recording, schedule) = within(text.len(), 64, 64 << 10, || {
        let recording = Recording::read(text, NAMED);
        let schedule = Schedule::of(&recording);
        (recording, schedule)
    });
    check(&recording, &schedule);
    play(text.len(), &schedule, &grouping);
}

/// A file of groups.
fn groups(text: &[u8]) -> Option<Grouping> {
    let text = String::from_utf8_lossy(text);
    match within(text.len(), 64, 64 << 10, || Grouping::parse(&text)) {
        Ok(grouping) => Some(grouping),
        Err(error) => {
            assert!(!error.contains('\n'), "{error}");
            None
        }
    }
}

fn check(recording: &Recording, schedule: &Schedule) {
    let Recording { told, others, lost, bad, named, lines, .. } = recording;
    assert!(told.len() + others + lost + bad <= *lines, "a line is one thing");
    assert_eq!(named.len(), NAMED.min(*bad));
    assert!(named.iter().all(|bad| bad.line <= *lines && !bad.to_string().contains('\n')));
    assert!(told.is_sorted_by_key(|told| told.time));
    assert!(schedule.seen.is_sorted_by_key(|(time, _)| *time));
    assert!(schedule.seen.iter().all(|(time, _)| *time <= schedule.span));
    assert!(schedule.tasks.len() <= 2 * told.len() && schedule.cpus <= 2 * told.len());
}

fn play(length: usize, schedule: &Schedule, grouping: &Grouping) {
    let Schedule { tasks, cpus, seen, span, .. } = schedule;
    let ticks = (span / 1_000_000).checked_mul(*cpus as u64);
    // Each task in a group of its own, 33 levels below the root at most.
    let due = tasks.len().saturating_mul(33).saturating_mul(cpus * seen.len());
    let modes =
        [CgroupMode::Up, CgroupMode::Smp, CgroupMode::Concur, CgroupMode::Max, CgroupMode::Tasks];
    let mode = modes[length % modes.len()];
    match ticks {
        // Refused, whatever else it is.
        None | Some(1_000_000_000..) => assert!(compare(schedule, grouping, mode).is_err()),
        Some(0..=TICKS) if due <= DUE => match compare(schedule, grouping, mode) {
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(comparison) => sums_up(&comparison, schedule),
        },
        Some(_) => {}
    }
}

fn sums_up(comparison: &Comparison, schedule: &Schedule) {
    let there = schedule.span * schedule.cpus as u64;
    assert_eq!(comparison.all.tasks, schedule.tasks.len());
    for row in comparison.groups.iter().chain([&comparison.all]) {
        assert!(row.tasks <= schedule.tasks.len());
        for figures in row.figures {
            assert!(figures.run <= there, "{} ns of {there}: {row:?}", figures.run);
            assert!(figures.due.is_finite() && figures.due >= 0.0, "{row:?}");
            assert!(figures.latency.is_sorted());
        }
    }
}
