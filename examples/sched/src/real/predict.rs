//! The plan in the model.

use super::plan::Plan;
use crate::bandwidth::machine::Stat;
use crate::bandwidth::{Behaviour, Machine, Semantics, Settings};
use crate::layout::{L2, Order};
use crate::model::Model;
use crate::structs::v7_2::V7_2;
use corelocal::{Area, CpuId};
use std::fs;
use std::time::Duration;

/// This kernel's release, or nothing.
pub fn release() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}

/// The semantics of a release: tasks are deferred since 6.18. What cannot be read is taken for new.
pub fn semantics(release: &str) -> Semantics {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().and_then(|text| text.parse::<u32>().ok());
    match (number(), number()) {
        (Some(major), Some(minor)) if (major, minor) < (6, 18) => Semantics::EntityRemoved,
        _ => Semantics::TasksDeferred,
    }
}

/// This kernel's settings, as far as they can be read.
pub fn settings(hz: u64) -> Settings {
    let mut settings = Settings::new(semantics(&release()));
    settings.tick = 1_000_000_000 / hz;
    let slice = fs::read_to_string("/proc/sys/kernel/sched_cfs_bandwidth_slice_us");
    if let Some(micros) = slice.ok().and_then(|text| text.trim().parse::<u64>().ok()) {
        settings.slice = micros * 1000;
    }
    settings
}

/// What a group of the model got in each run.
pub type Runs = Vec<Stat>;

/// Runs the plan `seeds` times, each with other phases. The result is by group of the plan.
///
/// # Errors
///
/// One line: memory was refused, or an invariant was broken (debug builds).
pub fn predict(
    plan: &Plan,
    settings: &Settings,
    warm_up: Duration,
    lasted: Duration,
    seeds: u64,
) -> Result<Vec<Runs>, String> {
    let cpus = plan.cpus as u32;
    let mut groups = vec![Vec::new(); plan.groups.len()];
    for seed in 1..=seeds {
        let model = Model::<L2<V7_2>>::build(&plan.tree(), cpus, Order::Allocation, Area::global())
            .map_err(|error| error.to_string())?;
        let mut machine = Machine::new(&model, Settings { seed, ..settings.clone() });
        for (index, group) in plan.groups.iter().enumerate() {
            for &cpu in &group.loops {
                machine.spawn(CpuId::new(cpu as u32), index + 1, Behaviour::BUSY, 0);
            }
        }
        machine.run(warm_up.as_nanos() as u64)?;
        let look = |machine: &Machine<'_, _>| -> Vec<Stat> {
            (1..=plan.groups.len()).map(|group| machine.stat(group)).collect()
        };
        let before = look(&machine);
        machine.run(lasted.as_nanos() as u64)?;
        for ((runs, after), before) in groups.iter_mut().zip(look(&machine)).zip(before) {
            runs.push(super::since(&after, &before));
        }
    }
    Ok(groups)
}
