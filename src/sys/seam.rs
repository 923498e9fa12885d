//! The seam at which tests put their own answers in the place of the system's.
//!
//! In effect only inside [`scope`] and only on the thread that called it; elsewhere
//! it costs one load of a thread-local word, and changes nothing.
#![allow(unsafe_code, reason = "a thread-local pointer to a frame of the same thread")]

use super::affinity;
use super::os;
use super::topology::Topology;
use crate::cpu::CpuMask;
use crate::sync::Ordering;
use crate::sync::plain::AtomicPtr;
use std::cell::{Cell, OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::ptr;

/// The answers. What is `None` is asked of the system.
#[derive(Default)]
pub(crate) struct Seam<'a> {
    pub(crate) cpu: RefCell<Option<CpuSource<'a>>>,
    pub(crate) root: Option<PathBuf>,
    pub(crate) affinity: Option<Affinity>,
    topology: OnceCell<&'static Topology>,
}

pub(crate) type CpuSource<'a> = Box<dyn FnMut() -> Option<u32> + 'a>;

/// A made-up affinity call.
#[derive(Clone, Debug)]
pub(crate) enum Affinity {
    /// Tells `mask`, and refuses buffers shorter than `bytes`.
    Allowed { mask: CpuMask, bytes: usize },
    /// Refuses with this error number.
    Refused { errno: i32 },
}

std::thread_local! {
    /// Constant and without a destructor: nothing is registered for the thread.
    static CURRENT: Cell<*const Seam<'static>> = const { Cell::new(ptr::null()) };
}

/// Runs `body` with the answers of `seam`, on this thread; panics included, the
/// earlier state is put back.
pub(crate) fn scope<R>(seam: &Seam<'_>, body: impl FnOnce() -> R) -> R {
    struct PutBack(*const Seam<'static>);
    impl Drop for PutBack {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let lifetime_erased = ptr::from_ref(seam).cast::<Seam<'static>>();
    let _put_back = PutBack(CURRENT.replace(lifetime_erased));
    body()
}

/// Asks the seam in effect on this thread. `ask` must not keep what it is given.
fn with<R>(ask: impl FnOnce(&Seam<'_>) -> Option<R>) -> Option<R> {
    let seam = CURRENT.get();
    // SAFETY:
    // - not null only while `scope` is on this thread's stack, which borrows it;
    // - the erased lifetime is only wider than the truth inside this call, and the
    //   questions below return plain values.
    let seam = unsafe { seam.as_ref() }?;
    ask(seam)
}

/// The made-up CPU id, known or not; `None` if this thread has no source of ids, or
/// asks from inside it.
#[inline]
pub(super) fn cpu_id() -> Option<Option<u32>> {
    with(|seam| Some(seam.cpu.try_borrow_mut().ok()?.as_mut()?()))
}

/// The made-up affinity; `None` if this thread has none.
pub(super) fn affinity() -> Option<Result<Vec<usize>, i32>> {
    with(|seam| {
        let affinity = seam.affinity.as_ref()?;
        Some(affinity::fake_words(|words| affinity.fill(words)))
    })
}

/// The made-up machine; `None` if this thread made up neither files nor affinity.
/// Kept for ever, one for each scope that asks.
pub(super) fn topology() -> Option<&'static Topology> {
    with(|seam| {
        if seam.root.is_none() && seam.affinity.is_none() {
            return None;
        }
        let read = || -> &'static Topology {
            let root = seam.root.as_deref().unwrap_or(Path::new("/"));
            keep(Topology::from_root(root))
        };
        Some(*seam.topology.get_or_init(read))
    })
}

/// A made-up machine, and the one before it: all are reachable, for tools that look for leaks.
struct Kept {
    topology: Topology,
    before: AtomicPtr<Kept>,
}

fn keep(topology: Topology) -> &'static Topology {
    static LAST: AtomicPtr<Kept> = AtomicPtr::new(ptr::null_mut());
    let kept = Box::leak(Box::new(Kept { topology, before: AtomicPtr::new(ptr::null_mut()) }));
    // Relaxed, both: nobody reads the list.
    let before = LAST.swap(kept, Ordering::Relaxed);
    kept.before.store(before, Ordering::Relaxed);
    &kept.topology
}

impl Affinity {
    fn fill(&self, words: &mut [usize]) -> Result<(), i32> {
        let (mask, bytes) = match self {
            Self::Allowed { mask, bytes } => (mask, *bytes),
            Self::Refused { errno } => return Err(*errno),
        };
        let held = words.len() * usize::BITS as usize;
        if size_of_val(words) < bytes || held < mask.id_bound() {
            return Err(os::TOO_SHORT);
        }
        for cpu in mask {
            let bits = usize::BITS as usize;
            words[cpu.index() / bits] |= 1 << (cpu.index() % bits);
        }
        Ok(())
    }
}
