//! Arguments of `sched trace`.

use crate::pick::policy::CgroupMode;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `sched trace`.
#[derive(Debug, Args)]
pub struct RecordedArgs {
    /// The text of `perf sched script` or `trace-cmd report` with the events sched_switch,
    /// sched_wakeup (or sched_waking), sched_wakeup_new and sched_migrate_task.
    #[arg(long, value_name = "FILE")]
    pub from: PathBuf,
    /// Which task is in which group: lines `pid N PATH`, `comm NAME PATH` (a name may end in *),
    /// `* PATH`, `weight PATH N`; the first that fits decides. Without it: a group for each
    /// program's name.
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,
    /// The policy that weighs groups: up, smp (Linux to 7.2), concur (7.3), max or tasks.
    #[arg(long, value_name = "MODE", default_value = "concur", value_parser = str::parse::<CgroupMode>)]
    pub mode: CgroupMode,
    /// Groups that are printed, those that waited longest.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Lines that were not understood, of which is printed what is wrong with them.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub bad: usize,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}
