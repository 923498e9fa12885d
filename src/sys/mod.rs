//! What the machine gives: which CPUs there are, and which one this thread is on.
//!
//! The only room that makes system calls. One file per operating system answers
//! the same few questions (`os`), everything above asks `os` and nothing else.

#![cfg_attr(corelocal_loom, allow(dead_code, reason = "models ask the machine for less"))]

mod affinity;
mod backend;
mod current;
mod machine;
pub(crate) mod memory;
pub(crate) mod placement;
#[doc(hidden)]
pub mod rseq;
pub mod topology;

#[cfg(miri)]
#[path = "interpreted.rs"]
mod os;
#[cfg(all(target_os = "linux", not(miri)))]
#[path = "linux.rs"]
mod os;
#[cfg(not(any(target_os = "linux", miri)))]
#[path = "other.rs"]
mod os;

#[cfg(feature = "testing")]
pub(crate) mod seam;
#[cfg(not(feature = "testing"))]
#[path = "no_seam.rs"]
mod seam;

pub(crate) use backend::choose_backend;
#[cfg(feature = "testing")]
pub(crate) use backend::force;
pub use backend::{Backend, Reason, backend};
#[cfg(feature = "testing")]
use current::machine_hint;
#[allow(unused_imports, reason = "used by the rooms above, which are built in turn")]
pub(crate) use current::{cpu_hint, thread_hash};
pub use machine::MAX_CPUS;
// The one part of the hidden room that users are told to call.
#[allow(unused_imports, reason = "used by the rooms above, which are built in turn")]
pub(crate) use machine::cpus;
pub use rseq::{Unverified, Verified, verify};
pub use topology::Topology;

/// The area in which the kernel tells a thread its CPU: libc's, or else the crate's own.
fn thread_area() -> Option<os::ThreadArea> {
    os::thread_area().or_else(rseq::register::area)
}
