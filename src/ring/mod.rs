//! [`PerCpuRing`]: a ring of records for each CPU, for tracing.
//!
//! # How it is built
//!
//! ```text
//!            given back          index
//!                v                 v
//!  +-------------+-----+------+----+-----------------+ - - - - - - - - +
//!  |   free      | rec | rec  | rec|      free       |  largest record |   a lane's bytes
//!  +-------------+-----+------+----+-----------------+ - - - - - - - - +
//!                 16 bytes: length, flag, time; then the bytes, padded to 8
//! ```
//!
//! * **A write is one section** (`ring_push`): it loads the lane's index and what the reader gave
//!   back, leaves if there is no room, copies header and bytes behind the index, where nobody looks,
//!   and commits the new index. One that is cut off has no effect: the next one writes over its bytes.
//!   Nothing is reserved first and filled in later, so there is no record that a reader has to wait
//!   for, and none that a thread leaves half written when it dies.
//! * **An index** counts units of 8 bytes in its upper half and records in its lower one, so one store
//!   publishes both: how many records were written is known exactly, without a second word.
//! * **A record lies in one piece**, for its reader to borrow. One that begins near the end runs on
//!   into room behind the units, as large as the largest record; no padding records, no split copies.
//! * **The reader** loads the index (acquire), borrows records up to there where they lie, and stores
//!   what it gives back (release) into a word of its own, a line a lane, outside of the lanes: what
//!   sections store, nobody else does, and the other way round.
//! * **Without sections, and in the spill lane**, the same is done under a lock that is only tried.
//!
//! Sources: the kernel's tracing buffers, a ring a CPU that drops or overwrites
//! (`Documentation/trace/ring-buffer-design.rst`, where a writer that is interrupted reserves first and
//! the outermost one commits; here it is cut off instead); its `Documentation/bpf/ringbuf.rst`, whose
//! records also lie in one piece, by a second mapping; and the copy-and-commit sections of librseq.
//!
//! # What is where
//!
//! | file | what is in it |
//! |---|---|
//! | `lanes` | the rings over the contract of sections: push, read, give back |
//! | `record` | headers, and what readers see |
//! | `reader` | the reader, and records on their way out |
//! | `per_cpu_ring`, `statics`, `error` | what users see |
#![allow(unsafe_code, reason = "bytes in memory that sections use")]

mod lanes;

#[cfg(not(corelocal_loom))]
mod error;
#[cfg(not(corelocal_loom))]
mod per_cpu_ring;
#[cfg(not(corelocal_loom))]
mod reader;
#[cfg(not(corelocal_loom))]
mod record;
#[cfg(not(corelocal_loom))]
mod statics;
mod stats;

#[cfg(corelocal_loom)]
pub(crate) mod model;

#[cfg(not(corelocal_loom))]
pub use error::{ReaderExists, RingError, WriteError};
#[cfg(not(corelocal_loom))]
pub use per_cpu_ring::PerCpuRing;
#[cfg(not(corelocal_loom))]
pub use reader::{Drain, Reader};
#[cfg(not(corelocal_loom))]
pub use record::Record;
#[cfg(not(corelocal_loom))]
pub use statics::StaticRing;
pub use stats::LaneStats;
