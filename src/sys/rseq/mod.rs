//! Restartable sequences: one operation on one CPU's copy, with no locked instruction.
//!
//! A *section* is a few instructions that the kernel either lets run to their
//! last one on the CPU they began on, or cuts off before it. The last one is the
//! only store that anybody else can see: the **commit**. So a section that is
//! preempted, moved, or interrupted by a signal has no effect, and one that ends
//! was alone on its CPU from its first instruction to its last.
//!
//! This room is the whole vocabulary. [`Contract`] says what each operation
//! loads, compares and stores. It has one implementation a processor, one with
//! atomics for everything else, and one for loom; one test body runs over all.
//! The room knows nothing of objects: it takes pointers to lane 0's copy, and the
//! distance between lanes as a constant.
//!
//! | file | what is in it |
//! |---|---|
//! | `abi` | the kernel's structures, and the two words of the hot path |
//! | `x86_64`, `aarch64` | the sections |
//! | `atomic` | the same contract with atomic instructions |
//! | `steps` | what lists, stacks and copies do before the commit, in Rust, for these two |
//! | `model` | the same contract under loom: a CPU is a token that can be lost |
//! | `form` | which lane, which guard, which commit |
//! | `ring` | what a push into a ring works on |
//! | `word` | what a section can store, and as which atomic the program sees it |
//! | `ops` | the entry points: section, again, spill lane |
//! | `fence` | wait until no section that began earlier is running |
//! | `inject` | places in a section where a test can hold it up |
//! | `strike` | who disturbs it there |
//! | `verify` | provoke aborts, and count them |
//! | `annotate` | what sections order, told to the thread sanitizer (`--cfg corelocal_tsan`) |
//! | `register` | areas of the crate's own, where libc registers none (feature `register`) |
//!
//! # What holds in an `Rseq` process
//!
//! * **No atomic ever stores to a CPU lane**, from any CPU, in any operation: a
//!   section's plain load and store and a locked instruction elsewhere lose
//!   updates on one word. Only sections store to CPU lanes, and only on their CPU.
//! * The **spill lane** is stored to by atomics alone. It serves threads that the
//!   kernel does not tell their CPU, and threads whose sections abort again and
//!   again (a debugger's single steps would keep one in a loop for ever).
//! * To the rest of the program a commit is a relaxed store, or a release store
//!   where the form says so, of the word's [`Word::Atomic`].
//!
//! # The feature `register`
//!
//! Sections need a thread area that is registered with the kernel. glibc 2.35 and newer do that
//! for each thread; musl and older ones do not, and a tunable switches it off. With this
//! feature (off by default) the crate does it there, for each thread at its first operation
//! or question; [`backend`](crate::backend) is then `Rseq`, for the reason
//! [`OwnRegistration`](super::Reason::OwnRegistration). Where libc registers, the feature
//! changes nothing. The hot path is the same.
//!
//! * **It has the crate's one thread-specific destructor**, of a `pthread` key: the registration
//!   is taken back before the thread's memory goes, or the kernel would kill the process. With
//!   glibc it runs after the destructors of Rust's thread-locals. What a thread does
//!   later is counted on the spill lane, and nothing is registered anew.
//! * **It acts in the program only**, not in a shared library that contains the crate: a library
//!   that is loaded later has no thread-local storage at one distance in all threads, and when
//!   it is unloaded that storage ends under threads that go on. A library says
//!   [`InLibrary`](super::Reason::InLibrary), uses atomics, and can be unloaded.
//! * **Other libraries keep what they registered**: the kernel knows one area a thread. Such a
//!   thread works on the spill lane; if it is the one that chooses the backend, the process
//!   uses atomics. A system that refuses (`EPERM`, `ENOSYS`) is not asked again.
//! * Registering a thread takes two calls (`pthread_setspecific`, `rseq`), allocates nothing, takes
//!   no lock, leaves `errno` alone, and may happen in a signal handler or in an allocator. Choosing
//!   the backend makes the key; with glibc it must be among the process's first 32, which a thread
//!   sets without an allocation.

mod abi;
#[cfg(corelocal_tsan)]
mod annotate;
mod atomic;
mod contract;
mod fence;
mod form;
mod inject;
#[cfg(any(all(corelocal_loom, feature = "loom"), feature = "testing"))]
mod model;
mod ops;
mod ring;
mod steps;
mod verify;
mod word;

#[cfg(all(
    feature = "register",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(any(miri, all(corelocal_loom, feature = "loom")))
))]
pub(super) mod register;
#[cfg(not(all(
    feature = "register",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(any(miri, all(corelocal_loom, feature = "loom")))
)))]
#[path = "no_register.rs"]
pub(super) mod register;

#[cfg(all(
    feature = "testing",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(any(miri, all(corelocal_loom, feature = "loom")))
))]
mod strike;
#[cfg(all(
    feature = "testing",
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64"),
        target_pointer_width = "64",
        not(any(miri, all(corelocal_loom, feature = "loom")))
    ))
))]
#[path = "no_strike.rs"]
mod strike;

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64",
    not(any(miri, all(corelocal_loom, feature = "loom")))
))]
#[path = "x86_64/mod.rs"]
mod arch;
#[cfg(all(
    target_os = "linux",
    target_arch = "aarch64",
    target_pointer_width = "64",
    not(any(miri, all(corelocal_loom, feature = "loom")))
))]
#[path = "aarch64/mod.rs"]
mod arch;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(any(miri, all(corelocal_loom, feature = "loom")))
)))]
#[path = "none.rs"]
mod arch;

pub use abi::{Fields, Hot, HotWords, fields, thread_area};
#[cfg(corelocal_tsan)]
pub(crate) use annotate::acquire;
pub use arch::Sections;
pub use atomic::{Atomic, try_lock, unlock};
pub use contract::{
    Anchor, Anchored, Contract, Copied, Guard, Outcome, Stack, Stride, Words, update,
};
pub use fence::{NoFence, can_fence, fence_all, fence_cpu};
pub use form::{Any, At, Form, HERE, InSections, On, Part, While, on};
pub use inject::Points;
#[cfg(feature = "testing")]
pub use inject::{Disturbance, hold};
#[cfg(feature = "testing")]
pub(crate) use inject::{Plan, disturbed};
#[cfg(any(all(corelocal_loom, feature = "loom"), feature = "testing"))]
pub use model::{Machine, Model};
pub use ops::{ATTEMPTS, Detours, Entry, detours};
pub use ring::{HEADER, Pushed, RECORD_BITS, Ring, UNIT};
pub use verify::{Unverified, Verified, is_trusted, verify};
pub use word::{Int, Word};

/// Why this process has no thread areas of the crate's own (feature `register`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "made with the feature")]
pub(super) enum Refusal {
    /// The crate is part of a shared library.
    Library,
    /// The system's error number.
    System(i32),
}

/// Whether this target has sections.
pub const HAS_SECTIONS: bool = cfg!(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(any(miri, all(corelocal_loom, feature = "loom")))
));

// How a section says that it did not commit. After a commit its status is the address of its
// descriptor, which is none of these.
const ELSEWHERE: usize = 0;
const ABORTED: usize = 1;
const CLOSED: usize = 2;
const DIFFERS: usize = 3;

/// The outcome of a section that left `status`; `COMPARES` if it has a test of its own.
#[inline(always)]
#[allow(dead_code, reason = "targets without sections")]
const fn attempt<F: Form, const COMPARES: bool>(
    status: usize,
    lane: u32,
    value: u64,
) -> Outcome<u64> {
    let last = if COMPARES {
        DIFFERS
    } else if F::GUARDED {
        CLOSED
    } else {
        ABORTED
    };
    if status > last {
        return Outcome::Committed { lane, value };
    }
    match status {
        ELSEWHERE if F::ON => Outcome::Moved,
        ELSEWHERE => Outcome::Nowhere,
        ABORTED => Outcome::Aborted,
        CLOSED => Outcome::Closed,
        _ => Outcome::Differs { lane, value },
    }
}
