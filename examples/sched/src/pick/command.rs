//! `sched pick`, done.

use super::args::PickArgs;
use super::report::{Report, Simulated, Timed, cost, svg};
use crate::measure::machine::{Machine, pin};
use corelocal::CpuId;
use std::fs;

/// Why it ends early.
#[derive(Debug)]
pub enum Refused {
    /// Something is wrong with the arguments.
    Input(String),
    /// The system refused something.
    System(String),
}

/// Simulates and times what was asked for.
///
/// # Errors
///
/// One line that says what is wrong: with the file for the picture, or with the CPU to measure on.
pub fn run(
    args: &PickArgs,
    command: String,
    progress: impl FnMut(&str),
) -> Result<Report, Refused> {
    let simulated = Simulated::run(args.seed, args.seconds());
    if let Some(file) = &args.svg {
        fs::write(file, svg::draw(&simulated.courses))
            .map_err(|error| Refused::Input(format!("{}: {error}", file.display())))?;
    }
    let timed = match args.plan() {
        None => None,
        Some(plan) => {
            let machine = Machine::current();
            if let Some(&cpu) = machine.allowed.last() {
                pin(CpuId::new(cpu)).map_err(Refused::System)?;
            }
            Some(Timed { machine, command, costs: cost::measure(&plan, progress) })
        }
    };
    Ok(Report { seed: args.seed, simulated, timed })
}
