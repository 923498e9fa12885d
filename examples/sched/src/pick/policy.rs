//! How heavy a group is on one CPU: the kernel's five policies, fed with the load of the moment.

pub use crate::load::CgroupMode;
use crate::load::GroupLoad;

/// What a policy looks at.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// The group's weight as set by its owner.
    pub shares: u64,
    /// The load of its queue on this CPU.
    pub load: u64,
    /// The load of its queues on all CPUs.
    pub total: u64,
    /// CPUs that it may use.
    pub cpus: u64,
    /// Its runnable tasks on all CPUs.
    pub runnable: u64,
}

/// The group's weight on this CPU. Where the kernel looks at averages over time, this looks at the
/// load and the runnable tasks of the moment, in full units: only their ratio counts.
pub fn weight(mode: CgroupMode, at: Situation) -> u64 {
    let Situation { shares, load, total, cpus, runnable } = at;
    mode.shares(&GroupLoad {
        shares,
        queue_weight: load,
        queue_load: load,
        contrib: load,
        group_load: total,
        // The kernel's average has 1024 a task.
        group_runnable: runnable << 10,
        cpus,
    })
}
