//! When a CPU's list is full or empty: whole lists to and from the shared queue.

use super::lanes::{LOADED, Lanes, Reach, SPARE, node_at};
use super::node::{Chain, Header};
use super::shared::Shared;
use crate::sys::rseq::{Anchored, Outcome, Stride};
use core::ptr::NonNull;

/// How often an operation that met a drain looks at the new phase, before it goes to the shared
/// queue.
const TURNS: usize = if cfg!(corelocal_loom) { 3 } else { 64 };

impl<S: Stride> Lanes<S> {
    /// Puts a node for which [`push`](Self::push) found no room: a full list goes to the spare
    /// one's place or to the shared queue as a whole. Returns what has no room anywhere.
    ///
    /// # Safety
    ///
    /// As [`push`](Self::push); the node is given up.
    #[cold]
    pub(crate) unsafe fn push_slow<C: Anchored>(
        &self,
        reach: Reach<C>,
        node: NonNull<Header>,
        shared: &Shared,
    ) -> Chain {
        for _ in 0..TURNS {
            let phase = self.phase();
            // SAFETY:
            // - passed on to the caller.
            match unsafe { self.push_in(reach, phase, node) } {
                Outcome::Committed { .. } => return Chain::EMPTY,
                Outcome::Closed => continue,
                Outcome::Differs { .. } => {}
                _ => break,
            }
            // SAFETY:
            // - passed on to the caller.
            let outcome = unsafe { self.take(reach, phase, LOADED) };
            let Outcome::Committed { value: head, .. } = outcome else { continue };
            // SAFETY:
            // - what was taken is this thread's.
            let full = unsafe { Chain::from_head(head) };
            // SAFETY:
            // - passed on to the caller.
            let full = unsafe { self.fill(reach, SPARE, full) };
            let Err(full) = shared.put(full) else { continue };
            // No room: as it was, and the new object goes. Unless somebody pushed meanwhile.
            // SAFETY:
            // - passed on to the caller.
            let mut over = unsafe { self.fill(reach, LOADED, full) };
            // SAFETY:
            // - the caller gave the node up, and nobody else has it.
            unsafe { over.push(node) };
            return over;
        }
        // SAFETY:
        // - as above.
        let alone = unsafe { Chain::of(node) };
        shared.put(alone).err().unwrap_or(Chain::EMPTY)
    }

    /// Gets a node where [`pop`](Self::pop) found none: out of the spare list, or of a batch of
    /// the shared queue, which this CPU then has. Returns what has no room anywhere, too.
    ///
    /// # Safety
    ///
    /// As [`pop`](Self::pop).
    #[cold]
    pub(crate) unsafe fn pop_slow<C: Anchored>(
        &self,
        reach: Reach<C>,
        shared: &Shared,
    ) -> (Option<NonNull<Header>>, Chain) {
        for _ in 0..TURNS {
            let phase = self.phase();
            // SAFETY:
            // - passed on to the caller.
            match unsafe { self.pop_in(reach, phase) } {
                Outcome::Committed { value, .. } => return (node_at(value), Chain::EMPTY),
                Outcome::Closed => continue,
                Outcome::Differs { .. } => {}
                _ => break,
            }
            // SAFETY:
            // - passed on to the caller.
            match unsafe { self.take(reach, phase, SPARE) } {
                Outcome::Committed { value: head, .. } => {
                    // SAFETY:
                    // - what was taken is this thread's.
                    let batch = unsafe { Chain::from_head(head) };
                    // SAFETY:
                    // - passed on to the caller.
                    return unsafe { self.open(reach, batch, shared) };
                }
                Outcome::Closed => {}
                _ => break,
            }
        }
        // SAFETY:
        // - passed on to the caller.
        shared
            .take()
            .map_or((None, Chain::EMPTY), |batch| unsafe { self.open(reach, batch, shared) })
    }

    /// The first node of a batch; the rest goes to this CPU, or back.
    ///
    /// # Safety
    ///
    /// As [`pop`](Self::pop).
    unsafe fn open<C: Anchored>(
        &self,
        reach: Reach<C>,
        mut batch: Chain,
        shared: &Shared,
    ) -> (Option<NonNull<Header>>, Chain) {
        let first = batch.pop();
        // SAFETY:
        // - passed on to the caller.
        let rest = unsafe { self.fill(reach, LOADED, batch) };
        // SAFETY:
        // - passed on to the caller.
        let rest = unsafe { self.fill(reach, SPARE, rest) };
        (first, shared.put(rest).err().unwrap_or(Chain::EMPTY))
    }
}
