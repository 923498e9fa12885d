//! The lines of the algorithm that a check is about, each right unless a test takes a wrong one.
//!
//! A check that has never failed shows nothing. So each constant here names one line of the code,
//! and the tests run the same checks with that line wrong. [`Sound`] has every line right; because
//! the constants are known when the code is compiled, nothing of the wrong lines is in it.

/// Which lines are right.
pub trait Rules: core::fmt::Debug {
    /// A subtree's minimum is computed anew when the tree changes.
    const KEEPS_SUBTREE_MINIMUM: bool = true;
    /// Only who is eligible is picked.
    const ASKS_ELIGIBILITY: bool = true;
    /// Service that is charged moves the weighted sum.
    const CHARGE_MOVES_SUM: bool = true;
    /// Who leaves is taken out of the weighted sum.
    const LEAVING_MOVES_SUM: bool = true;
    /// A new weight scales the lag.
    const REWEIGHT_SCALES_LAG: bool = true;
    /// A task's part is divided at its own group's level too.
    const DIVIDES_AT_EVERY_LEVEL: bool = true;
    /// The flat pick computes a task's weight anew when it is set running and at ticks.
    const RENEWS_WEIGHT: bool = true;
    /// A group's entity takes the group's weight on this CPU.
    const GROUP_TAKES_WEIGHT: bool = true;
    /// The flat pick charges the running task and does not ask the root queue's `h_curr`, which is
    /// a group's entity wherever the task is in a group.
    const CHARGES_RUNNING_TASK: bool = true;
    /// The running task is charged before a delayed one is put back.
    const CHARGES_BEFORE_REQUEUE: bool = true;
}

/// Every line right.
#[derive(Clone, Copy, Debug)]
pub struct Sound;

impl Rules for Sound {}
