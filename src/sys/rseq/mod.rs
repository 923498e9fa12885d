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
//! | `word` | what a section can store, and as which atomic the program sees it |
//! | `ops` | the entry points: section, again, spill lane |
//! | `fence` | wait until no section that began earlier is running |
//! | `inject` | places in a section where a test can hold it up |
//! | `verify` | provoke aborts, and count them |
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

mod abi;
mod atomic;
mod contract;
mod fence;
mod form;
mod inject;
#[cfg(any(all(corelocal_loom, feature = "loom"), feature = "testing"))]
mod model;
mod ops;
mod steps;
mod verify;
mod word;

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
pub use arch::Sections;
pub use atomic::{Atomic, try_lock, unlock};
pub use contract::{
    Anchor, Anchored, Contract, Copied, Guard, Outcome, Stack, Stride, Words, update,
};
pub use fence::{NoFence, can_fence, fence_all, fence_cpu};
pub use form::{Any, At, Form, HERE, On, Part, While, on};
pub use inject::Points;
#[cfg(feature = "testing")]
pub use inject::hold;
#[cfg(any(all(corelocal_loom, feature = "loom"), feature = "testing"))]
pub use model::{Machine, Model};
pub use ops::{ATTEMPTS, Detours, Entry, detours};
pub use verify::{Unverified, Verified, is_trusted, verify};
pub use word::{Int, Word};

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
