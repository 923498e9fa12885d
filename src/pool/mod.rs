//! [`PerCpuPool`]: objects kept on the CPU that gave them back.
//!
//! # How it is built
//!
//! ```text
//!    lane of CPU 0        lane of CPU 1        ...        spill lane
//!  +----------------+   +----------------+              +----------------+
//!  | loaded   spare |   | loaded   spare |              | loaded   spare |   in use
//!  | loaded   spare |   | loaded   spare |              | loaded   spare |   being drained
//!  +----|-------|---+   +----------------+              +----------------+
//!       v       v
//!      node    node          shared queue: [ batch | 0 | batch | batch | 0 | ... ]
//!       v       v                              |
//!      node    node                            v
//!                                             node > node > ...
//! ```
//!
//! * **An object lies in a node**, a block of the heap with a header: the link to the node below,
//!   and how many nodes there are from here to the end of the list. The count is what bounds a
//!   list with no word for it: the section that pushes reads the head's count, leaves if it is
//!   at the bound, and writes one more into its own node (`list_push_within`).
//! * **Get and put are a section each**, on the *loaded* list of this CPU: last in, first out, with
//!   no lock prefix and no call. A section that reads a link reads a node that is in its CPU's
//!   list: a node leaves that list by a section of the same CPU, which cuts the reader off, or by
//!   a take-over behind a barrier that ends it. So nodes can be freed at any time by whoever
//!   took them out, and nothing stale is ever read.
//! * **A full loaded list moves as a whole**: it becomes the *spare* one if that place is empty,
//!   and a batch of the shared queue if not. An empty one is filled from the spare one, then from
//!   a batch. A lane that has just given or taken a batch can do a batch of operations before
//!   the next (Bonwick and Adams, "Magazines and Vmem", USENIX 2001, section 3.1). No list is
//!   walked.
//! * **The shared queue** is a row of words, each 0 or the address of a batch: put by
//!   compare-and-swap, taken by swap. Nobody reads through an address before it owns the batch.
//! * **Take-over** (drain, shrink): there are two pairs of lists a lane. Every section compares the
//!   *phase* word with the one whose pair it uses. Who drains turns the phase, has the kernel end
//!   every section (`fence_all`), and then owns the pair of the old phase in every lane. What
//!   sections do meanwhile goes to the other pair. One thread at a time drains; another one is
//!   refused, and does not wait.
//! * **The spill lane** serves threads whose CPU is not known, with a try-lock; who finds it
//!   held goes to the shared queue.
//! * **Without sections, or without that barrier**, each thread has a lane of its own (a magazine),
//!   by the crate `thread_local`, used under a try-lock that only drains contend for. That takes an
//!   allocation and a thread-local destructor a thread, so there a signal handler should keep off.
//!
//! # What is where
//!
//! | file | what is in it |
//! |---|---|
//! | `node` | headers, nodes, lists that one thread owns |
//! | `lanes` | lanes, the phase, push and pop |
//! | `batches` | whole lists to and from the shared queue |
//! | `take_over` | turning the phase, and what then lies in the lanes |
//! | `shared` | the shared queue |
//! | `threads` | magazines |
//! | `objects` | nodes with their objects: made, counted, dropped |
//! | `moves` | objects on their way between all of these |
//! | `percpu_pool`, `builder`, `guard`, `drain`, `statics`, `error` | what users see |
#![allow(unsafe_code, reason = "lists of nodes in memory that sections use")]

mod batches;
mod lanes;
mod node;
mod shared;
mod take_over;

#[cfg(not(corelocal_loom))]
mod bounds;
#[cfg(not(corelocal_loom))]
mod builder;
#[cfg(not(corelocal_loom))]
mod drain;
#[cfg(not(corelocal_loom))]
mod error;
#[cfg(not(corelocal_loom))]
mod guard;
#[cfg(not(corelocal_loom))]
mod moves;
#[cfg(not(corelocal_loom))]
mod objects;
#[cfg(not(corelocal_loom))]
mod percpu_pool;
#[cfg(not(corelocal_loom))]
mod statics;
#[cfg(not(corelocal_loom))]
mod threads;

#[cfg(corelocal_loom)]
pub(crate) mod model;

#[cfg(not(corelocal_loom))]
pub use builder::PoolBuilder;
#[cfg(not(corelocal_loom))]
pub use drain::Drain;
#[cfg(not(corelocal_loom))]
pub use error::{BuildError, DrainError, Exhausted, GetError};
#[cfg(not(corelocal_loom))]
pub use guard::{OwnedPooled, Pooled};
#[cfg(not(corelocal_loom))]
pub use percpu_pool::PerCpuPool;
#[cfg(not(corelocal_loom))]
pub use statics::StaticPool;
