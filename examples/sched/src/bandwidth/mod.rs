//! Bandwidth control: a quota of processor time for each group and period, as the kernel's fair
//! class enforces it, on the fields of the kernel's structures and so in every layout.
//!
//! | file | what the kernel calls it |
//! |---|---|
//! | [`control`] | the locks, and what one CPU keeps beside the structures |
//! | `pool` | `cfs_bandwidth`: refill, assign, return, the slack timer |
//! | `throttle` | `throttle_cfs_rq`, `unthrottle_cfs_rq` and their walks |
//! | `queue` | enqueue and dequeue up the hierarchy, its counters, the leaf list |
//! | `run` | `update_curr`, the choice of the next task, the return to user space |
//! | `distribute` | the period's timer, `distribute_cfs_runtime`, the CSD lists |
//! | `change` | a new quota while tasks run; a CPU that goes off and on |
//! | [`machine`] | virtual time: ticks, timers, tasks that sleep and wake |
//! | [`check`](mod@check) | what must hold after every step |
//!
//! Two meanings of "throttled" exist. With [`Semantics::EntityRemoved`] (Linux to 6.17) the group's
//! entity leaves the queue it waits in, and everything below stands still, a kernel thread too, with
//! whatever lock it holds. With [`Semantics::TasksDeferred`] (since 6.18) nothing is removed: each
//! task goes when it next returns to user space, and waits on the limbo list of its own queue; a
//! kernel thread never returns there, and is never throttled.
//!
//! Simplified: who runs next is whoever has run least by weight at each level (no eligibility, no
//! deadlines); a group's weight is divided by the queues' loads as they are, without load
//! tracking; the period's timer is never late, so it does not lengthen periods.

pub mod change;
pub mod check;
pub mod control;
mod distribute;
mod list;
pub mod machine;
mod pool;
mod queue;
mod run;
pub mod task;
mod throttle;

#[cfg(test)]
mod tests;

pub use change::{Quota, QuotaError};
pub use check::check;
pub use control::{Control, Cpu};
pub use machine::Machine;
pub use task::{Behaviour, Task, TaskId};

/// What it means that a group is throttled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Semantics {
    /// The group's entity leaves the queue it waits in (Linux to 6.17).
    EntityRemoved,
    /// Tasks leave one by one when they return to user space (since 6.18).
    TasksDeferred,
}

/// The kernel's constants, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it means that a group is throttled.
    pub semantics: Semantics,
    /// How much a CPU takes from the pool at once (`sched_cfs_bandwidth_slice_us`).
    pub slice: u64,
    /// How much a queue keeps when it gives back what it did not use.
    pub keep: u64,
    /// How long after a return the slack timer hands out what came back.
    pub slack: u64,
    /// How much must be left of the period for a return to be handed out in it.
    pub worthwhile: u64,
    /// Between two ticks of a CPU.
    pub tick: u64,
    /// How long a task runs before another of its queue may.
    pub turn: u64,
    /// The least quota and period. The kernel's is 1 ms.
    pub least: u64,
    /// Where the timers' phases start from.
    pub seed: u64,
    /// What is broken on purpose.
    #[cfg(test)]
    pub(crate) plant: Option<Plant>,
}

impl Settings {
    /// The kernel's values, with 1000 ticks a second.
    pub const fn new(semantics: Semantics) -> Self {
        Self {
            semantics,
            slice: 5_000_000,
            keep: 1_000_000,
            slack: 5_000_000,
            worthwhile: 2_000_000,
            tick: 1_000_000,
            turn: 3_000_000,
            least: 1_000_000,
            seed: 1,
            #[cfg(test)]
            plant: None,
        }
    }

    /// Whether this fault was planted.
    #[cfg(test)]
    pub(crate) fn has(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }
}

/// Faults that a test plants to see a check fail.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plant {
    /// With the flat pick, a group looks for its running entity in `curr`, which only the root has.
    AsksCurr,
    /// What is returned to the pool does not arrive.
    LosesReturns,
    /// A refill is not cut to quota and burst.
    RefillsWithoutEnd,
    /// Distribution hands out a slice instead of what is missing, and the pool does not pay.
    GivesTooMuch,
    /// The walk down leaves groups out that have children.
    ForgetsInnerCounts,
    /// A queue that is added to the leaf list goes to its end.
    AppendsToLeafList,
    /// A throttled queue stays on the leaf list though it is empty.
    KeepsOnLeafList,
    /// A dequeue does not lower the counters of the ancestors.
    ForgetsAncestors,
    /// A task that goes to the limbo list stays queued.
    StaysQueued,
    /// A queue that was unthrottled stays on its group's list of throttled queues.
    StaysListed,
    /// A CPU that goes off keeps its queues throttled.
    OfflineStaysThrottled,
    /// Kernel threads are throttled like others.
    ThrottlesKernelThreads,
    /// A reweighted entity leaves its queue's load as it was.
    ForgetsLoad,
}

/// Whether a fault was planted: `false`, at compile time, outside of tests.
macro_rules! planted {
    ($at:expr, $plant:ident) => {{
        #[cfg(test)]
        let planted = $at.control.settings.has(super::Plant::$plant);
        #[cfg(not(test))]
        let planted = {
            let _ = &$at;
            false
        };
        planted
    }};
}
use planted;
