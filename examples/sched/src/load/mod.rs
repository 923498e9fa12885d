//! Load: how much each entity has been running and waiting of late, what of that a group's CPUs
//! get, and what a task's load weighs against another's of another group.
//!
//! The model of the kernel's per-entity load tracking ("PELT") and group scheduling, from the
//! behaviour of `kernel/sched/pelt.c` and `kernel/sched/fair.c` and from
//! `Documentation/scheduler/sched-pelt.c`; each function names the one that it models. Only a
//! model that [accounts](crate::model::Model::accounts) has sensible loads.
//!
//! | file | what it is |
//! |---|---|
//! | [`pelt`] | the decaying sums of one entity: powers of y, segments, averages. Pure |
//! | [`shares`] | what weight a group's entity gets on one CPU, by five policies. Pure |
//! | [`average`] | averages of entities and queues: update, attach, detach, removal, propagation |
//! | [`group`] | what queues report to their group; reweighting; setting shares and idle |
//! | [`queue`] | a task enters and leaves the queues above it |
//! | [`blocked`] | decay of what sleeps, over the leaf list |
//! | [`h_load`] | load as seen from the root |
//! | [`lifecycle`] | a group comes online, and is released |

pub mod average;
pub mod blocked;
pub mod group;
pub mod h_load;
pub mod lifecycle;
pub mod pelt;
pub mod queue;
pub mod shares;

pub use average::{Attach, update_load_avg};
pub use blocked::update_blocked_averages;
pub use group::{SetError, reweight_entity, set_idle, set_shares, update_cfs_group};
pub use h_load::{task_h_load, update_cfs_rq_h_load};
pub use lifecycle::{create_group, release_group, set_cpu_online};
pub use queue::{dequeue_entity, dequeue_task, enqueue_entity, enqueue_task};
pub use shares::{CgroupMode, GroupLoad};

/// A weight of queues and entities in the units of load tracking, where an ordinary task has 1024
/// (`scale_load_down`). A weight that is not 0 is at least 2.
pub const fn scale_load_down(weight: u64) -> u64 {
    if weight == 0 {
        return 0;
    }
    let scaled = weight >> 10;
    if scaled < 2 { 2 } else { scaled }
}

#[cfg(test)]
mod tests;
