//! What a CPU keeps, and how it gets there: two lists a lane, beside two that are being drained.
//!
//! Everything here is written over the contract of `sys::rseq`, whoever meets it: sections and the
//! spill lane's atomics (`Entry`), atomics on a thread's own magazines, or the model of loom.

use super::node::{Chain, Header};
use crate::sync::{AtomicUsize, Ordering};
use crate::sys::rseq::{Anchor, Anchored, Copied, HERE, Outcome, Stride};
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A lane's lists. All zero is empty.
///
/// `lists[phase & 1]` is in use, the other pair belongs to whoever drains. Of a pair the first is
/// what objects are pushed to and popped from, the second is empty, or a whole batch.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Lane {
    lists: [[Anchor; 2]; 2],
}

// One line on most machines: what a CPU touches for a get and a put.
#[cfg(not(corelocal_loom))]
const _: () = assert!(size_of::<Lane>() == 64 || size_of::<usize>() != 8);

impl Default for Lane {
    fn default() -> Self {
        let empty = || [Anchor::new(0), Anchor::new(0)];
        Self { lists: [empty(), empty()] }
    }
}

// SAFETY:
// - atomic integers, for which zero is a value: four empty, unlocked lists.
#[cfg(not(corelocal_loom))]
unsafe impl bytemuck::Zeroable for Lane {}

/// The list that objects are pushed to and popped from.
pub(super) const LOADED: usize = 0;
/// The list that is empty, or a batch.
pub(super) const SPARE: usize = 1;

/// Set in the phase of a pool without sections: there is one phase only.
pub(super) const ALONE: usize = 1 << (usize::BITS - 1);

/// The way to the lists: who acts, and where lane 0 lies for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach<C> {
    pub(super) on: C,
    pub(super) lane0: *mut Lane,
}

/// How the lists of all lanes are used: the phase, and how long a list may be.
#[derive(Debug)]
pub(crate) struct Lanes<S> {
    /// Which pair of lists is in use. Every section looks at it; only who drains changes it.
    pub(super) phase: AtomicUsize,
    /// The most objects in one list.
    most: u32,
    /// 1 while somebody drains.
    pub(super) taken: AtomicUsize,
    _stride: PhantomData<fn() -> S>,
}

impl<S: Stride> Lanes<S> {
    /// Lists of at most `most` objects; with sections, or each in the hands of `Atomic`.
    pub(crate) fn new(most: u32, sections: bool) -> Self {
        let phase = if sections { 0 } else { ALONE };
        let [phase, taken] = [phase, 0].map(AtomicUsize::new);
        Self { phase, most, taken, _stride: PhantomData }
    }

    /// The most objects in one list: a batch.
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "models have no objects"))]
    pub(super) fn most(&self) -> usize {
        self.most as usize
    }

    /// The phase, for one attempt.
    #[inline(always)]
    pub(super) fn phase(&self) -> usize {
        // Acquire [E51]: pairs with the Release in `take_over`: the lists that come into use with a
        // phase were emptied before.
        self.phase.load(Ordering::Acquire)
    }

    /// Whether objects lie in lanes, and sections put them there.
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "models have no objects"))]
    #[inline(always)]
    pub(super) fn has_sections(&self) -> bool {
        // Relaxed: this bit never changes.
        self.phase.load(Ordering::Relaxed) & ALONE == 0
    }

    /// Lane 0's list `which` of the pair that `phase` uses.
    #[inline(always)]
    pub(super) fn list(lane0: *mut Lane, phase: usize, which: usize) -> *mut Anchor {
        lane0.cast::<Anchor>().wrapping_add(2 * (phase & 1) + which)
    }

    /// Pushes a node, if this CPU's list has room. Says whether. With sections only: else no.
    ///
    /// # Safety
    ///
    /// * The lists of `reach` are this pool's: a [`Lane`] lies in each lane that `reach` acts on,
    ///   `S::BYTES` apart, with nodes in it that this type put there.
    /// * The caller owns the node, which stays where it is; it gives the node up if the answer is
    ///   yes.
    #[inline(always)]
    pub(crate) unsafe fn push<C: Anchored>(&self, reach: Reach<C>, node: NonNull<Header>) -> bool {
        let phase = self.phase();
        if phase & ALONE != 0 {
            return false;
        }
        // SAFETY:
        // - passed on to the caller.
        let outcome = unsafe { self.push_in(reach, phase, node) };
        matches!(outcome, Outcome::Committed { .. })
    }

    /// # Safety
    ///
    /// As [`push`](Self::push).
    #[inline(always)]
    pub(super) unsafe fn push_in<C: Anchored>(
        &self,
        reach: Reach<C>,
        phase: usize,
        node: NonNull<Header>,
    ) -> Outcome<usize> {
        let form = HERE.guarded(&raw const self.phase, phase);
        let (list, next) = (Self::list(reach.lane0, phase, LOADED), Header::NEXT);
        let _ = node.as_ptr().expose_provenance();
        let node = node.as_ptr().cast::<u8>();
        // SAFETY:
        // - the lists are the pool's, in every lane, and so is the guard;
        // - the node is the caller's; its link and count lie at `NEXT`. All nodes in the list count.
        unsafe { reach.on.list_push_within::<S, _>(list, node, next, self.most, form) }
    }

    /// Pops a node off this CPU's list, if there is one. It is the caller's. With sections only.
    ///
    /// # Safety
    ///
    /// As [`push`](Self::push), of the lists.
    #[inline(always)]
    pub(crate) unsafe fn pop<C: Anchored>(&self, reach: Reach<C>) -> Option<NonNull<Header>> {
        let phase = self.phase();
        if phase & ALONE != 0 {
            return None;
        }
        // SAFETY:
        // - passed on to the caller.
        match unsafe { self.pop_in(reach, phase) } {
            Outcome::Committed { value, .. } => node_at(value),
            _ => None,
        }
    }

    /// # Safety
    ///
    /// As [`pop`](Self::pop).
    #[inline(always)]
    pub(super) unsafe fn pop_in<C: Anchored>(
        &self,
        reach: Reach<C>,
        phase: usize,
    ) -> Outcome<usize> {
        let form = HERE.guarded(&raw const self.phase, phase);
        let list = Self::list(reach.lane0, phase, LOADED);
        // SAFETY:
        // - the lists are the pool's, in every lane, and so is the guard;
        // - a node in a list of a CPU leaves it by a section of that CPU, or after a fence that
        //   ends every section that could still read its link; only then can it be freed.
        unsafe { reach.on.list_pop::<S, _>(list, Header::NEXT, form) }
    }

    /// Takes the whole list `which`.
    ///
    /// # Safety
    ///
    /// As [`pop`](Self::pop).
    pub(super) unsafe fn take<C: Anchored>(
        &self,
        reach: Reach<C>,
        phase: usize,
        which: usize,
    ) -> Outcome<usize> {
        let form = HERE.guarded(&raw const self.phase, phase);
        // SAFETY:
        // - the lists are the pool's, in every lane, and so is the guard.
        unsafe { reach.on.list_take::<S, _>(Self::list(reach.lane0, phase, which), form) }
    }

    /// Makes `chain` the list `which`, if that one is empty. Gives it back if it is not, or a
    /// drain came between.
    ///
    /// # Safety
    ///
    /// As [`pop`](Self::pop).
    pub(super) unsafe fn fill<C: Anchored>(
        &self,
        reach: Reach<C>,
        which: usize,
        chain: Chain,
    ) -> Chain {
        if chain.is_empty() {
            return chain;
        }
        let phase = self.phase();
        let form = HERE.guarded(&raw const self.phase, phase);
        let list = Self::list(reach.lane0, phase, which);
        let head = chain.into_head();
        // A copy of no bytes, which commits the head where there is none.
        let bytes =
            Copied { from: NonNull::dangling().as_ptr(), len: 0, to: 0, expect: 0, commit: head };
        // SAFETY:
        // - the lists are the pool's, in every lane, and so is the guard;
        // - no byte is read or written. The index has no other meaning than the head: where it is
        //   0 in whichever lane, that list is empty.
        let outcome = unsafe { reach.on.copy::<S, _>(list, bytes, form) };
        if matches!(outcome, Outcome::Committed { .. }) {
            return Chain::EMPTY;
        }
        // SAFETY:
        // - the address that came out of `chain`; it was not committed.
        unsafe { Chain::from_head(head) }
    }
}

/// The node at an address that a list gave.
#[inline(always)]
pub(super) fn node_at(address: usize) -> Option<NonNull<Header>> {
    NonNull::new(core::ptr::with_exposed_provenance_mut(address))
}
