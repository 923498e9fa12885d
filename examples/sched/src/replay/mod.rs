//! The kernel's benchmark of task groups, replayed period by period: tasks wake up and go to sleep,
//! ticks charge quotas, groups are throttled, refilled and unthrottled, load decays.
//!
//! The steps are the kernel's as far as they touch a group's state on a CPU, on the model's own
//! fields, with values that add up (`check`). There is no task beyond its weight, and no picking.
//! Phases are apart in time, for all CPUs: a step does not find in its cache what the step before it
//! did to the same group.

mod balance;
mod check;
mod cpu;
mod here;
mod independent;
mod modelled;
mod params;
mod pelt;
mod phase;
mod place;
mod queue;
mod quota;
mod regimes;
mod scenario;
mod timed;
mod variant;

pub use here::{Here, Question};
pub use independent::Independent;
pub use modelled::{Met, Tally};
pub use params::{FIXED, FreeList, Params, Rules, Run};
pub use phase::Phase;
pub use regimes::{Regime, regimes};
pub use scenario::{Quotas, Scenario};
pub use timed::{TIMED, Timed, Times, Timing, time};
pub use variant::Variant;

#[cfg(test)]
mod tests;
