//! Waiting and fairness a group: as recorded, and in the model under both picks.

use super::groups::{Grouping, Made};
use super::seen::Schedule;
use crate::pick::policy::CgroupMode;
use crate::pick::sim::recorded::{Recorded, read};
use crate::pick::sim::{Account, Options, Record, Sim, Timed};
use crate::pick::{Flat, Groups, Hierarchical, Picker, ROOT, World};
use core::fmt;
use serde::Serialize;

/// Ticks of all CPUs that are simulated at most: some ten seconds of work.
const MOST_TICKS: u64 = 200_000_000;
/// Groups times CPUs times events that are reckoned at most, for what is due: the same.
const MOST_DUE: u128 = 20_000_000_000;

/// Groups times CPUs, each a queue, that are simulated with few events, and as many more for each
/// event: a short text takes no gigabytes.
const FEW_QUEUES: u128 = 1 << 16;
const QUEUES_AN_EVENT: u128 = 16;

/// What is more than the model does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooMuch {
    /// There is nothing in it.
    Nothing,
    /// Seconds times CPUs.
    Time {
        /// Seconds.
        seconds: u64,
        /// CPUs.
        cpus: usize,
    },
    /// Groups times CPUs, for so many events.
    Queues {
        /// Groups.
        groups: usize,
        /// CPUs.
        cpus: usize,
        /// The most of both multiplied.
        most: u128,
    },
    /// Groups times CPUs times events.
    Groups {
        /// Groups.
        groups: usize,
        /// CPUs.
        cpus: usize,
        /// Events.
        events: usize,
    },
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no switch of a task of the fair class is in it"),
            Self::Time { seconds, cpus } => write!(
                f,
                "{seconds} s of {cpus} CPUs are more than {} CPU seconds; give a part of it (`perf \
                 script --time`)",
                MOST_TICKS / 1000
            ),
            Self::Queues { groups, cpus, most } => write!(
                f,
                "{groups} groups on {cpus} CPUs are more than {most} queues, which so many events may \
                 have; give fewer groups (--groups)"
            ),
            Self::Groups { groups, cpus, events } => write!(
                f,
                "{events} events in {groups} groups on {cpus} CPUs are too many; give a part of \
                 them, or fewer groups (--groups)"
            ),
        }
    }
}

/// Who decided.
pub const DECIDERS: [&str; 3] = ["recorded", "hierarchical", "flat"];

/// What a group got.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Figures {
    /// Nanoseconds of service.
    pub run: u64,
    /// Nanoseconds that were due: each CPU divided continuously among who is runnable there.
    pub due: f64,
    /// Nanoseconds of waiting, after wake-ups and preemptions.
    pub wait: u64,
    /// Times that a task ran after it woke.
    pub wakeups: usize,
    /// Nanoseconds from a wake-up until the task ran, that half of the times are not above, then
    /// 99 %, then all.
    pub latency: [u64; 3],
}

impl Figures {
    fn of(account: Account) -> Self {
        let Account { service: run, due, waiting: wait, mut latencies, .. } = account;
        latencies.sort_unstable();
        let at = |per_mille: usize| {
            let rank = (latencies.len() * per_mille).div_ceil(1000).max(1);
            latencies.get(rank - 1).copied().unwrap_or(0)
        };
        let latency = [at(500), at(990), at(1000)];
        Self { run, due, wait, wakeups: latencies.len(), latency }
    }
}

/// One group, with those below it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Its name or path.
    pub group: String,
    /// Tasks in it and below it.
    pub tasks: usize,
    /// By [`DECIDERS`].
    pub figures: [Figures; 3],
}

/// Everything that was compared.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// The policy that weighs groups.
    pub mode: &'static str,
    /// All groups together.
    pub all: Row,
    /// Each group, the one that waited longest in the recording first.
    pub groups: Vec<Row>,
    /// Groups that were given a weight and have no task.
    pub unused: Vec<String>,
}

/// Reckons the recording's accounts, and runs the model with the same wake-ups.
///
/// # Errors
///
/// [`TooMuch`].
pub fn compare(
    schedule: &Schedule,
    grouping: &Grouping,
    mode: CgroupMode,
) -> Result<Comparison, TooMuch> {
    let Schedule { cpus, seen, span, .. } = schedule;
    if schedule.tasks.is_empty() || seen.is_empty() {
        return Err(TooMuch::Nothing);
    }
    if u128::from(span / 1_000_000) * *cpus as u128 > MOST_TICKS.into() {
        return Err(TooMuch::Time { seconds: span / 1_000_000_000, cpus: *cpus });
    }
    let mut made = Made::new(Groups::new(mode, *cpus));
    let tasks: Vec<u32> = schedule
        .tasks
        .iter()
        .map(|task| grouping.group(grouping.of(task.pid, &task.comm), &mut made))
        .collect();
    let groups = made.names.len();
    let queues = groups as u128 * *cpus as u128;
    let most = FEW_QUEUES + QUEUES_AN_EVENT * seen.len() as u128;
    if queues > most {
        return Err(TooMuch::Queues { groups, cpus: *cpus, most });
    }
    if queues * seen.len() as u128 > MOST_DUE {
        return Err(TooMuch::Groups { groups, cpus: *cpus, events: seen.len() });
    }
    let unused = grouping.unused(&made);
    let mut world = World::new(made.groups);
    for (task, &group) in schedule.tasks.iter().zip(&tasks) {
        world.add_task(group, task.weight, None);
    }
    let Recorded { record, events } = read(seen, &world, *cpus, *span);
    let records = [
        record,
        simulate::<Hierarchical>(&world, *cpus, &events, *span),
        simulate::<Flat>(&world, *cpus, &events, *span),
    ];
    let row = |group: u32| row(group, &made.names[group as usize], &tasks, &world, &records);
    let mut rows: Vec<Row> = (1..groups as u32).map(row).collect();
    rows.sort_by_key(|row| core::cmp::Reverse(row.figures[0].wait));
    Ok(Comparison { mode: mode.name(), all: row(ROOT), groups: rows, unused })
}

fn simulate<P: Picker>(world: &World, cpus: usize, events: &[Timed], span: u64) -> Record {
    let options = Options { reckons_due: true, ..Options::default() };
    let mut sim = Sim::<P>::new(world.clone(), cpus, options);
    sim.feed(events.iter().copied());
    sim.run(span, &mut ());
    sim.record
}

fn row(group: u32, name: &str, tasks: &[u32], world: &World, records: &[Record; 3]) -> Row {
    let is_in = |&&of: &&u32| group == ROOT || world.groups.upward(of).any(|at| at == group);
    Row {
        group: name.to_owned(),
        tasks: tasks.iter().filter(is_in).count(),
        figures: records.each_ref().map(|record| Figures::of(record.of_group(group, world))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::Recording;

    #[test]
    fn a_short_recording_of_many_groups_and_cpus_takes_gigabytes() {
        let line = |at: usize| {
            format!(
                "g{at} {at} [{at}] {at}: sched_wakeup: comm=g{at} pid={at} prio=120 target_cpu={at}\n"
            )
        };
        let text = |lines: usize| (1..=lines).map(line).collect::<String>();
        let compared = |lines| {
            let schedule = Schedule::of(&Recording::read(text(lines).as_bytes(), 1));
            compare(&schedule, &Grouping::by_name(), CgroupMode::Concur).map(|all| all.groups.len())
        };
        assert_eq!(compared(100), Ok(100));
        let most = FEW_QUEUES + 2000 * QUEUES_AN_EVENT;
        assert_eq!(compared(2000), Err(TooMuch::Queues { groups: 2001, cpus: 2000, most }));
    }
}
