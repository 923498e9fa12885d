//! Arguments of `sched real`.

use super::plan::TOP_SHARES;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `sched real`.
#[derive(Debug, Args)]
pub struct RealArgs {
    /// How long the busy loops are watched.
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    pub seconds: f64,
    /// Ticks a second of this kernel (CONFIG_HZ), for the model.
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u64).range(24..=10_000))]
    pub hz: u64,
    /// Runs of the model, each with other phases of the periods' timers; the table has their mean.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// The weight of the topmost group against all other programs, as in `cpu.shares`. With the
    /// default they hardly get to run meanwhile.
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u64).range(1024..=TOP_SHARES))]
    pub shares: u64,
    /// Where to make the groups; by default where the cpu controller is mounted.
    #[arg(long, value_name = "DIR")]
    pub cgroup: Option<PathBuf>,
    /// The list of mounts.
    #[arg(long, value_name = "FILE", hide = true)]
    pub mounts: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Be a busy loop on this CPU, as long as standard input is open.
    #[arg(long, value_name = "CPU", hide = true)]
    pub spin: Option<u32>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number from 0.1 to 600 is expected".to_owned()),
    }
}
