//! `sched real`: the model beside this machine's kernel.
//!
//! A small tree of groups with weights and quotas is made twice: as cgroups, where busy loops run
//! for a few seconds, pinned to CPUs, and as a [`Machine`](crate::bandwidth::Machine) in virtual time. What each group got is
//! printed side by side. The kernel's groups are gone afterwards, also after a panic or Ctrl-C.
//!
//! | file | what it is |
//! |---|---|
//! | [`plan`] | the tree and its tasks |
//! | [`place`] | where this machine lets us make groups, or what is missing |
//! | [`groups`] | the groups, which vanish with their value |
//! | [`spin`] | the busy loops: processes that end with their parent |
//! | [`stat`](mod@stat) | `cpu.stat` |
//! | [`predict`] | the same in the model |
//! | [`report`] | the table |
//! | [`args`] | what is asked |

pub mod args;
pub mod groups;
pub mod place;
pub mod plan;
pub mod predict;
pub mod report;
pub mod spin;
pub mod stat;

pub use args::RealArgs;

use crate::bandwidth::machine::Stat;
use groups::Groups;
use place::{Missing, Place};
use plan::Plan;
use report::{Report, Row};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long tasks run before anything is counted.
const WARM_UP: Duration = Duration::from_millis(300);

/// How a comparison ended.
#[derive(Debug)]
pub enum Outcome {
    /// Both sides.
    Compared(Report),
    /// This machine does not let us: what is missing.
    Skipped(Missing),
}

/// Runs the comparison.
///
/// # Errors
///
/// One line: what failed after the groups could be made, or that a signal came.
pub fn compare(args: &RealArgs, say: impl Fn(&str)) -> Result<Outcome, String> {
    let place = match place::find(args.cgroup.as_deref(), args.mounts.as_deref()) {
        Ok(place) => place,
        Err(missing) => return Ok(Outcome::Skipped(missing)),
    };
    let cpus = spin::allowed().map_err(|error| format!("CPUs of this process: {error}"))?;
    let plan = Plan::small(cpus.len().min(2), args.shares);
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| format!("signal {signal}: {error}"))?;
    }
    groups::remove_left_over(&place);
    let groups = match Groups::make(&place, &plan) {
        Ok(groups) => groups,
        Err(missing) => return Ok(Outcome::Skipped(missing)),
    };
    say(&format!("{} groups in {}", plan.groups.len(), groups.top().display()));
    let measured = measure(args, &place, &plan, &groups, &cpus, &stop)?;
    if let Some(error) = groups.remove() {
        return Err(error);
    }
    let settings = predict::settings(args.hz);
    say("the model");
    let predicted = predict::predict(&plan, &settings, WARM_UP, measured.lasted, args.seeds)?;
    let rows = plan.groups.iter().zip(measured.groups).zip(predicted);
    let rows = rows.map(|((group, kernel), model)| Row::new(group, kernel, &model)).collect();
    Ok(Outcome::Compared(Report {
        release: predict::release(),
        hierarchy: place.describe(),
        semantics: settings.semantics,
        cpus: plan.cpus,
        seconds: measured.lasted.as_secs_f64(),
        hz: args.hz,
        others: measured.others,
        rows,
    }))
}

/// What the kernel did.
struct Measured {
    lasted: Duration,
    groups: Vec<Stat>,
    /// The part of the CPUs' time that went to other programs.
    others: f64,
}

fn measure(
    args: &RealArgs,
    place: &Place,
    plan: &Plan,
    groups: &Groups,
    cpus: &[u32],
    stop: &AtomicBool,
) -> Result<Measured, String> {
    let mut spinners = spin::start(plan, groups, cpus)?;
    groups.watch()?;
    spinners.go()?;
    wait(WARM_UP, stop)?;
    let look = |spinners: &spin::Spinners| -> Result<Vec<Stat>, String> {
        let mut stats = Vec::new();
        for index in 0..plan.groups.len() {
            let mut stat = stat::read(place.version, groups.dir(index))?;
            stat.usage = spinners.usage(plan, index)?;
            stats.push(stat);
        }
        Ok(stats)
    };
    let (began, before) = (Instant::now(), look(&spinners)?);
    wait(Duration::from_secs_f64(args.seconds), stop)?;
    let (after, lasted) = (look(&spinners)?, began.elapsed());
    let ours: u64 = (0..plan.groups.len())
        .filter(|&index| plan.groups[index].parent == 0)
        .map(|index| after[index].usage - before[index].usage)
        .sum();
    let all = lasted.as_nanos() as f64 * plan.cpus as f64;
    let wanted = plan.demand().min(1.0) * all;
    let groups = after.iter().zip(&before).map(|(after, before)| since(after, before)).collect();
    Ok(Measured { lasted, groups, others: (wanted - ours as f64).max(0.0) / all })
}

fn since(after: &Stat, before: &Stat) -> Stat {
    Stat {
        usage: after.usage.saturating_sub(before.usage),
        nr_periods: after.nr_periods.saturating_sub(before.nr_periods),
        nr_throttled: after.nr_throttled.saturating_sub(before.nr_throttled),
        throttled_time: after.throttled_time.saturating_sub(before.throttled_time),
        throttled_self_time: after.throttled_self_time.saturating_sub(before.throttled_self_time),
        nr_bursts: after.nr_bursts.saturating_sub(before.nr_bursts),
        burst_time: after.burst_time.saturating_sub(before.burst_time),
    }
}

/// Sleeps unless a signal comes.
fn wait(long: Duration, stop: &AtomicBool) -> Result<(), String> {
    let began = Instant::now();
    loop {
        // Relaxed: a flag that a handler of this thread or another sets; nothing else is read.
        if stop.load(Ordering::Relaxed) {
            return Err("interrupted; the groups were removed".to_owned());
        }
        let left = long.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

#[cfg(test)]
mod tests;
