//! Arguments of `sched pick`.

use super::report::cost::Plan;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `sched pick`.
#[derive(Debug, Args)]
pub struct PickArgs {
    /// Levels of groups above the tasks, for the timed table.
    #[arg(long, value_name = "N,N...", value_delimiter = ',', default_values_t = [1, 2, 3, 5],
        value_parser = clap::value_parser!(u32).range(1..=32))]
    pub depths: Vec<u32>,
    /// Groups in each group.
    #[arg(long, value_name = "N,N...", value_delimiter = ',', default_values_t = [1, 4],
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub widths: Vec<u32>,
    /// Tasks.
    #[arg(long, value_name = "N,N...", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32],
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub tasks: Vec<u32>,
    /// Independent repetitions of the timed table.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Seconds of virtual time of each simulated run.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Where every workload and shuffle starts.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Nothing timed: only what is the same each time.
    #[arg(long)]
    pub untimed: bool,
    /// Draw service against what is due, over time, into this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Two short rounds and two simulated seconds: a check that it works, not a measurement.
    #[arg(long)]
    pub quick: bool,
}

impl PickArgs {
    /// What is to be timed.
    pub fn plan(&self) -> Option<Plan> {
        let (rounds, samples) =
            if self.quick { (self.rounds.min(2), 3) } else { (self.rounds, 40) };
        let sorted = |values: &[u32]| {
            let mut values = values.to_vec();
            values.sort_unstable();
            values.dedup();
            values
        };
        (!self.untimed).then(|| Plan {
            depths: sorted(&self.depths),
            widths: sorted(&self.widths),
            tasks: sorted(&self.tasks),
            rounds,
            samples,
            seed: self.seed,
        })
    }

    /// How many seconds are to be simulated.
    pub fn seconds(&self) -> u64 {
        if self.quick { self.seconds.min(2) } else { self.seconds }
    }
}
