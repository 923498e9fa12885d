//! `sched trace`: recordings in both forms, a real one, and what is no recording at all.

mod command;
mod oracle;
mod random;

use sched::pick::policy::CgroupMode;
use sched::recorded::{Comparison, Grouping, Recording, Schedule, compare};

/// A few milliseconds of three programs on two CPUs, as perf writes them.
const PERF: &str = include_str!("small.perf.txt");
/// The same as trace-cmd writes them, with the line of the kernel's own file for flags.
const TRACE_CMD: &str = include_str!("small.trace-cmd.txt");
/// A real recording of this program's machine; see `recorded/record.sh`.
const REAL: &str = include_str!("../../recorded/tar.perf.txt");

fn schedule(text: &str) -> Schedule {
    Schedule::of(&Recording::read(text.as_bytes(), 10))
}

fn by_name(schedule: &Schedule) -> Comparison {
    compare(schedule, &Grouping::by_name(), CgroupMode::Concur).unwrap()
}
