//! What `sched pick` shows.
//!
//! | file | what it is |
//! |---|---|
//! | `fit`, `cost` | a line through points; operations timed on this machine |
//! | `latency`, `frames`, `service` | what happens in virtual time, the same from the same seed |
//! | `svg`, `print` | a picture; tables |

pub mod cost;
pub mod fit;
pub mod frames;
pub mod latency;
mod print;
pub mod service;
pub mod svg;

pub use print::print;

use super::{Flat, Hierarchical};
use crate::measure::machine::Machine;
use cost::Costs;
use frames::{Frames, frames};
use latency::{Latency, latency};
use serde::Serialize;
use service::{Course, course};

/// Everything that was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where the seeded workloads start.
    pub seed: u64,
    /// What was simulated.
    pub simulated: Simulated,
    /// What was timed, and where.
    pub timed: Option<Timed>,
}

/// What was timed, and where.
#[derive(Clone, Debug, Serialize)]
pub struct Timed {
    /// The machine.
    pub machine: Machine,
    /// The command line.
    pub command: String,
    /// What operations cost.
    pub costs: Costs,
}

/// What happens in virtual time. The same seed gives the same figures on every machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Simulated {
    /// Seconds of virtual time of each run.
    pub seconds: u64,
    /// Wake-up latencies.
    pub latencies: Vec<Latency>,
    /// Frames.
    pub frames: Vec<Frames>,
    /// Service over time.
    pub courses: Vec<Course>,
}

impl Simulated {
    /// Simulates so many seconds of each workload.
    pub fn run(seed: u64, seconds: u64) -> Self {
        let time = seconds * 1_000_000_000;
        let mut latencies = Vec::new();
        for threads in [16, 32] {
            latencies.push(latency::<Hierarchical>(threads, seed, time));
            latencies.push(latency::<Flat>(threads, seed, time));
        }
        let mut all = Vec::new();
        for short in [false, true] {
            all.push(frames::<Hierarchical>(short, seed, time));
            all.push(frames::<Flat>(short, seed, time));
        }
        let courses = vec![course::<Hierarchical>(), course::<Flat>()];
        Self { seconds, latencies, frames: all, courses }
    }
}
