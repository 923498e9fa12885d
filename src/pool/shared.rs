//! The shared queue: batches that no CPU has, in a row of slots.
//!
//! A slot is one word: the address of a batch's first node, or 0. Whoever swaps a 0 in owns the
//! batch; nobody reads through an address before the batch is his own, so there is no ABA and
//! nothing to protect from being freed. Nobody waits: a thread that vanishes (`fork`) or is
//! interrupted (a signal) leaves every slot whole.

use super::node::Chain;
use crate::sync::{AtomicUsize, Ordering};
use alloc::boxed::Box;

/// The slots, and where to look first.
#[derive(Debug)]
pub(crate) struct Shared {
    slots: Box<[AtomicUsize]>,
    /// The slot that was used last.
    last: AtomicUsize,
}

impl Shared {
    /// Room for so many batches.
    pub(crate) fn new(batches: usize) -> Self {
        let slots = (0..batches).map(|_| AtomicUsize::new(0)).collect();
        Self { slots, last: AtomicUsize::new(0) }
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
        // Relaxed: where to begin is a hint.
        let last = self.last.load(Ordering::Relaxed);
        for step in 0..self.slots.len() {
            let at = (last + step) % self.slots.len();
            // Relaxed: only a look whether it is worth the exchange.
            if self.slots[at].load(Ordering::Relaxed) != 0 {
                continue;
            }
            // Release [E50]: pairs with the Acquire in `take`: what was done to the objects.
            // Relaxed on failure: the batch is still ours.
            let put =
                self.slots[at].compare_exchange(0, head, Ordering::Release, Ordering::Relaxed);
            if put.is_ok() {
                // Relaxed: a hint.
                self.last.store(at, Ordering::Relaxed);
                return Ok(());
            }
        }
        // SAFETY:
        // - the address that came out of `batch`.
        Err(unsafe { Chain::from_head(head) })
    }

    /// A batch, of those that were put last if that is easy to say; `None` if there was none.
    pub(super) fn take(&self) -> Option<Chain> {
        let count = self.slots.len();
        // Relaxed: a hint.
        let last = self.last.load(Ordering::Relaxed);
        for step in 0..count {
            let at = (last + count - step) % count;
            // Relaxed: only a look whether it is worth the swap.
            if self.slots[at].load(Ordering::Relaxed) == 0 {
                continue;
            }
            // Acquire [E50]: pairs with the Release in `put`.
            let head = self.slots[at].swap(0, Ordering::Acquire);
            if head != 0 {
                // Relaxed: a hint.
                self.last.store(at, Ordering::Relaxed);
                // SAFETY:
                // - what is in a slot belongs to whoever takes it out.
                return Some(unsafe { Chain::from_head(head) });
            }
        }
        None
    }
}
