//! Coherence: which accesses make lines move between cores, and what that costs.
//!
//! * [`Machine`]: sockets of cores of CPUs, and how the CPUs are numbered.
//! * [`Directory`]: a MESI protocol over lines of 64 bytes. It is fed with accesses, each under a
//!   tag of the caller's, and counts for each line and each tag what they met.
//! * [`Timing`]: the same with a clock. Transfers of one line wait for each other; what comes out
//!   is how long operations take and how many the machine does.
//! * [`HeatMap`]: the counts of lines as a picture, with the names of the fields that lie in them.
//! * [`Params`]: a machine and its latencies, read from a small text.
//!
//! # What is modelled, and what is not
//!
//! A *CPU* is a hardware thread. The CPUs of a core share one private cache **without bounds**:
//! nothing is ever evicted, so a line that was touched is held by somebody for ever, and every
//! miss but a first touch is a *coherence* miss, one that would not be with a single core. A
//! structure that is larger than a real cache looks better here than it is.
//!
//! The states are M, E, S and I. A first read makes E; a read of a line that another core has
//! modified leaves both with S (no O or F state). A store takes effect at once (no store buffer),
//! and accesses are in the order in which they are given: memory is sequentially consistent. There
//! is no prefetcher, so no line is dragged along with its neighbour. The last-level cache has no
//! part of its own: where some core holds a line, that core serves it.
//!
//! Everything is deterministic: the same accesses give the same reports, bit for bit.

mod core_set;
mod counts;
mod directory;
mod heat;
mod latency;
mod machine;
mod params;
mod protocol;
mod random;
mod svg;
mod timing;

pub use core_set::CoreSet;
pub use counts::{Counts, LineReport, TagReport};
pub use directory::{Directory, Outcome};
pub use heat::{Field, HeatMap, Measure, Order};
pub use latency::{BusyLine, TagLatency, TimingReport};
pub use machine::{Machine, MachineError, Numbering};
pub use params::{Latencies, Params};
pub use protocol::{Event, State};
pub use timing::{Operation, Timing, Workload};

/// Bytes of a line.
pub const LINE: u64 = 64;

/// What an access does to its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Reads them.
    Load,
    /// Writes them.
    Store,
    /// Reads and writes them in one step (an atomic read-modify-write). For the protocol a write.
    Rmw,
}

impl Kind {
    /// Whether the core must own the line.
    pub fn writes(self) -> bool {
        self != Self::Load
    }
}

/// One access, as it is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The first byte.
    pub address: u64,
    /// Bytes.
    pub size: u32,
    /// What it does to them.
    pub kind: Kind,
}
