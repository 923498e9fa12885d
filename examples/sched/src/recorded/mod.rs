//! A recorded schedule of a real machine beside the model's, for the same demands.
//!
//! | file | what it is |
//! |---|---|
//! | `line` | one line of `perf sched script` or `trace-cmd report` |
//! | `text` | a whole text: events in the order of time, lines that were not understood |
//! | `seen` | from its events to what the simulator's reader of traces takes |
//! | `groups` | which task is in which group |
//! | `compare` | waiting and fairness a group: recorded, hierarchical, flat |
//! | `print`, `args`, `command` | `sched trace`: what is printed, asked, done |
//!
//! The figures show what the model's rules do to a real load. They differ from the recording's also
//! where the rules are the same: a kernel may tick less often than each millisecond, may have had
//! other groups (which a recording does not show), and reacts to what it decides, while here every
//! wake-up comes when it came.
//!
//! The accounts of a trace and what the model is fed with are the simulator's own
//! ([`sim::recorded`](crate::pick::sim::recorded)). Recordings are made by `recorded/record.sh`
//! beside this crate's manifest.

pub mod args;
pub mod command;
pub mod compare;
pub mod groups;
pub mod line;
mod print;
pub mod seen;
pub mod text;

pub use compare::{Comparison, compare};
pub use groups::Grouping;
pub use print::print;
pub use seen::Schedule;
pub use text::{Bad, Recording, Told};
