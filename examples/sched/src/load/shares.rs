//! The weight of a group's entity on one CPU, by the five policies of the flat pick's `cgroup_mode`
//! (`calc_group_shares`). Pure functions of numbers.

use super::scale_load_down;
use core::fmt;
use core::str::FromStr;

/// The least weight of a group's entity (`MIN_SHARES`).
pub const MIN_SHARES: u64 = 2;

/// The weight of a task of nice level -20, scaled.
pub const NICE_MINUS_20: u64 = 88_761 << 10;

/// What a group's weight means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum CgroupMode {
    /// The full weight on every CPU: as if there were but one.
    Up,
    /// The weight of the whole group, split by load: Linux to 7.2.
    Smp,
    /// The weight of each CPU that the group has tasks for: the default of Linux 7.3.
    #[default]
    Concur,
    /// The weight of each CPU that the group may use; at most that of nice level -20.
    Max,
    /// The average weight of each task.
    Tasks,
}

/// What the policies ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupLoad {
    /// The group's shares, scaled.
    pub shares: u64,
    /// The weight of the group's queue on this CPU, scaled.
    pub queue_weight: u64,
    /// The load of that queue.
    pub queue_load: u64,
    /// What of the group's load the queue has reported.
    pub contrib: u64,
    /// The load that all queues of the group have reported.
    pub group_load: u64,
    /// The same of the runnable average, where 1024 is one task.
    pub group_runnable: u64,
    /// CPUs that the group may use.
    pub cpus: u64,
}

impl CgroupMode {
    /// All of them, in the order of the kernel's knob.
    pub const ALL: [Self; 5] = [Self::Up, Self::Smp, Self::Concur, Self::Max, Self::Tasks];

    /// The kernel's word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Smp => "smp",
            Self::Concur => "concur",
            Self::Max => "max",
            Self::Tasks => "tasks",
        }
    }

    /// The weight of the group's entity on this CPU. Rounded down at each division.
    pub fn shares(self, load: &GroupLoad) -> u64 {
        let n = self.factor(load);
        match self {
            Self::Up => load.shares,
            Self::Smp => load.split(load.shares, load.shares),
            Self::Concur | Self::Tasks => load.split(n * load.shares, n * load.shares),
            Self::Max => load.split(n * load.shares, NICE_MINUS_20),
        }
    }

    /// How many times the shares are split.
    pub fn factor(self, load: &GroupLoad) -> u64 {
        let tasks = (load.group_runnable >> 10).max(1);
        match self {
            Self::Up | Self::Smp => 1,
            Self::Concur => tasks.min(load.cpus),
            Self::Max => load.cpus,
            Self::Tasks => tasks,
        }
    }
}

impl GroupLoad {
    /// This CPU's part of `weight`: as much of it as of the group's load, with what the queue has
    /// now in place of what it reported last.
    fn split(&self, weight: u64, most: u64) -> u64 {
        let load = scale_load_down(self.queue_weight).max(self.queue_load);
        let total = self.group_load.saturating_sub(self.contrib) + load;
        let part = u128::from(weight) * u128::from(load);
        let part = if total == 0 { part } else { part / u128::from(total) };
        part.min(most.max(MIN_SHARES).into()).max(MIN_SHARES.into()) as u64
    }
}

impl fmt::Display for CgroupMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownMode(String);

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is none of up, smp, concur, max, tasks", self.0)
    }
}

impl std::error::Error for UnknownMode {}

impl FromStr for CgroupMode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        let named = Self::ALL.into_iter().find(|mode| mode.name() == word);
        named.ok_or_else(|| UnknownMode(word.to_owned()))
    }
}
