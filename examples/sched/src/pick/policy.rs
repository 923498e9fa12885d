//! How heavy a group is on one CPU, by the kernel's five policies.

/// The policies of the kernel's knob `cgroup_mode`, in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Mode {
    /// The full weight on every CPU.
    Up,
    /// The full weight, divided among the CPUs by load.
    Smp,
    /// The full weight for each CPU that the group's tasks can keep busy.
    Concur,
    /// The full weight for each CPU, divided by load; at most that of nice -20 on one.
    Max,
    /// The full weight for each runnable task, divided by load.
    Tasks,
}

impl Mode {
    /// Every policy.
    pub const ALL: [Self; 5] = [Self::Up, Self::Smp, Self::Concur, Self::Max, Self::Tasks];
}

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

/// The most that [`Mode::Max`] gives on one CPU: the kernel's weight of nice -20.
pub const MOST: u64 = 88761 << 10;

/// The group's weight on this CPU. Where the kernel looks at averages of load over time, this looks
/// at the load of the moment.
pub fn weight(mode: Mode, at: Situation) -> u64 {
    let Situation { shares, load, total, cpus, runnable } = at;
    let times = match mode {
        Mode::Up => return shares,
        Mode::Smp => 1,
        Mode::Concur => runnable.clamp(1, cpus.max(1)),
        Mode::Max => cpus,
        Mode::Tasks => runnable.max(1),
    };
    let whole = u128::from(shares) * u128::from(times);
    let most = if mode == Mode::Max { u128::from(MOST) } else { whole };
    let part = if total == 0 { 0 } else { whole * u128::from(load) / u128::from(total) };
    let least = u128::from(super::entity::LEAST_WEIGHT);
    part.min(most).max(least) as u64
}
