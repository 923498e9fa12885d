//! Arguments of `sched controls`.

use super::Config;
use clap::Args;
use std::time::Duration;

/// Arguments of `sched controls`.
#[derive(Debug, Args)]
pub struct ControlsArgs {
    /// Independent repetitions; each builds everything anew.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Where every shuffle starts.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Two short rounds: a check that it works, not a measurement.
    #[arg(long)]
    pub quick: bool,
}

impl ControlsArgs {
    /// How much is to be measured.
    pub fn config(&self) -> Config {
        let (rounds, samples, sample_ms) =
            if self.quick { (self.rounds.min(2), 2, 1) } else { (self.rounds, 15, 2) };
        let patience = Duration::from_secs(if self.quick { 1 } else { 5 });
        Config { rounds, samples, sample_ms, patience, seed: self.seed }
    }
}
