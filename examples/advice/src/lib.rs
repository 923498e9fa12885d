//! In which order a struct's fields should lie.
//!
//! A cache moves lines, not fields. Given which fields each operation touches, how often it runs and
//! on whose CPUs, [`advise`] looks for an order in which operations touch fewer lines, and in which
//! fields that one CPU writes do not lie on a line that others only read. What comes out is text for
//! [`cacheline_struct!`](corelocal::cacheline_struct!) with the promises that the compiler then
//! keeps, and what the order is predicted to save.
//!
//! ```
//! use advice::{By, Problem, advise};
//! use corelocal::layout_map;
//!
//! #[repr(C, align(64))]
//! struct Queue { pushed: u64, name: [u8; 60], limit: u64, created: [u8; 56], popped: u64 }
//!
//! layout_map! {
//!     const QUEUE: Queue { pushed, name, limit, created, popped }
//!     touches push { mut pushed, limit };
//!     touches pop { mut popped, limit };
//! }
//! let problem = Problem::from_layout(&QUEUE.with_line(64), By::All);
//! let advice = advise(&problem)?;
//! assert!(advice.after().cost < advice.before().cost);
//! // Whoever pushes, writes a line; the limit, which everybody reads, is not on it.
//! assert_ne!(advice.line_of("pushed"), advice.line_of("limit"));
//! println!("{advice}");
//! # let _ = |q: Queue| (q.pushed, q.name, q.limit, q.created, q.popped);
//! # Ok::<(), advice::ProblemError>(())
//! ```
//!
//! # The cost of an order
//!
//! Of an average operation, in units of one line ([`Prices`]): the lines that it touches, counted as
//! [`Layout`](corelocal::cacheline::Layout) counts them (so many misses if nothing is in the
//! cache); four times the transfers between CPUs that coherence makes it wait for (so many misses if
//! everything is); and a hundredth of the lines that the struct takes. The module `traffic` has the
//! formula for the transfers.
//!
//! # How it looks for one
//!
//! Fields are put into bins of one line each. What a bin costs depends on its members only, so a
//! move or an exchange of fields between two bins is cheap to judge. The first bins are the given
//! order's, and those of the greedy walk over the graph of affinities in Chilimbi, Davidson and
//! Larus, "Cache-Conscious Structure Definition" (PLDI 1999); they are then improved by moves and
//! exchanges until none helps (Kernighan and Lin, "An Efficient Heuristic Procedure for Partitioning
//! Graphs", 1970), from a fixed number of disturbed copies with a fixed seed: one input, one answer.
//! The result is laid out by the rules of `repr(C)` and judged exactly. Where it is not cheaper than
//! the given order, the answer is the given order.
//!
//! # Where the access sets come from
//!
//! * the `touches` of a [`Layout`](corelocal::cacheline::Layout): [`Problem::from_layout`];
//! * samples of addresses ([`Samples`]): the text of `perf c2c report --stdio` or of
//!   `perf mem report --stdio`, or a recording of (address, size, kind, CPU, operation):
//!   [`Problem::observe`].
//!
//! # What it does not know
//!
//! Attributes and visibilities of fields, which are to be put back by hand. What lies behind
//! pointers. Prefetchers, and how many lines a real cache holds.

mod advice;
mod array;
mod bins;
mod cost;
mod group;
mod observe;
mod place;
mod problem;
mod reports;
mod search;
mod set;
mod text;
mod traffic;

pub use advice::{Advice, advise};
pub use array::{ArrayShape, Shape};
pub use cost::{Cost, OperationCost, Prices};
pub use observe::{ObserveError, Observed};
pub use problem::{By, Field, Operation, Problem, ProblemError, Touched};
pub use reports::{Cpus, Format, Kind, Place, ReadError, Sample, Samples};

#[cfg(test)]
mod tests;
