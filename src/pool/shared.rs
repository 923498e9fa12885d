//! The shared queue: batches that no CPU has, in a row of slots.
//!
//! A slot is one word: the address of a batch's first node, or 0. Whoever swaps a 0 in owns the
//! batch; nobody reads through an address before the batch is his own, so there is no ABA and
//! nothing to protect from being freed. Nobody waits: a thread that vanishes (`fork`) or is
//! interrupted (a signal) leaves every slot whole. Each CPU begins its search at a slot of its own, so
//! that it finds its own batches again: the objects are in its cache, and the slots, too.

use super::node::Chain;
use crate::sync::{AtomicUsize, Ordering};
use crate::sys::{cpu_hint, cpus, thread_hash};
use alloc::boxed::Box;

/// The slots.
#[derive(Debug)]
pub(crate) struct Shared {
    slots: Box<[AtomicUsize]>,
}

impl Shared {
    /// Room for so many batches.
    pub(crate) fn new(batches: usize) -> Self {
        Self { slots: (0..batches).map(|_| AtomicUsize::new(0)).collect() }
    }

    /// Every slot, this CPU's first. A hint, as every CPU id.
    fn search(&self) -> impl Iterator<Item = &AtomicUsize> {
        // A model's threads have no CPUs, and must do the same in every run.
        let (cpu, cpus) = if cfg!(corelocal_loom) {
            (0, 1)
        } else {
            (cpu_hint().map_or_else(thread_hash, |id| id as usize), cpus() as usize)
        };
        let first = cpu % cpus * self.slots.len() / cpus;
        self.slots[first..].iter().chain(&self.slots[..first])
    }

    /// How many batches there is room for.
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "models have no objects"))]
    pub(super) fn batches(&self) -> usize {
        self.slots.len()
    }

    /// Puts a batch into the first slot that is free.
    ///
    /// # Errors
    ///
    /// The batch, if there is none.
    pub(super) fn put(&self, batch: Chain) -> Result<(), Chain> {
        let head = batch.into_head();
        if head == 0 {
            return Ok(());
        }
        for slot in self.search() {
            // Relaxed: only a look whether it is worth the exchange.
            if slot.load(Ordering::Relaxed) != 0 {
                continue;
            }
            // Release [E50]: pairs with the Acquire in `take`: what was done to the objects.
            // Relaxed on failure: the batch is still ours.
            if slot.compare_exchange(0, head, Ordering::Release, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
        }
        // SAFETY:
        // - the address that came out of `batch`.
        Err(unsafe { Chain::from_head(head) })
    }

    /// A batch, of this CPU's if it put one; `None` if there was none.
    pub(super) fn take(&self) -> Option<Chain> {
        for slot in self.search() {
            // Relaxed: only a look whether it is worth the swap.
            if slot.load(Ordering::Relaxed) == 0 {
                continue;
            }
            // Acquire [E50]: pairs with the Release in `put`.
            let head = slot.swap(0, Ordering::Acquire);
            if head != 0 {
                // SAFETY:
                // - what is in a slot belongs to whoever takes it out.
                return Some(unsafe { Chain::from_head(head) });
            }
        }
        None
    }
}
