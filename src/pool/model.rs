//! What models reach of a pool: the lists and the shared queue, without the objects and the heap.

use super::lanes::{self, Lanes, Reach};
use super::node::{Chain, Header};
use super::shared::Shared;
use super::take_over::Refused;
use crate::sys::rseq::{Anchored, NoFence, Stride};
use core::ptr::NonNull;

/// A node of a model: its header lies at this address.
pub type Place = NonNull<u8>;

/// Room for the header that lies before each node.
#[derive(Debug)]
pub struct Head(#[allow(dead_code, reason = "reached by address")] Header);

impl Default for Head {
    fn default() -> Self {
        Self(Header::new(true, false))
    }
}

/// A lane's lists.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lane(lanes::Lane);

/// A pool's lists, in lanes of the model's.
#[derive(Debug)]
pub struct PoolLists<S> {
    lanes: Lanes<S>,
    shared: Shared,
}

impl<S: Stride> PoolLists<S> {
    /// Lists of at most `most` nodes, and a shared queue for so many batches.
    pub fn new(most: u32, batches: usize) -> Self {
        Self { lanes: Lanes::new(most, true), shared: Shared::new(batches) }
    }

    /// Puts a node. Returns the nodes that have no room.
    ///
    /// # Safety
    ///
    /// As `Lanes::push`: the lanes are this object's, and so is the node, which begins with a [`Head`].
    pub unsafe fn put<C: Anchored>(&self, on: C, lane0: *mut Lane, node: Place) -> Vec<Place> {
        let reach = Reach { on, lane0: lane0.cast() };
        // SAFETY:
        // - passed on to the caller.
        if unsafe { self.lanes.push(reach, node.cast()) } {
            return Vec::new();
        }
        // SAFETY:
        // - passed on to the caller.
        places(unsafe { self.lanes.push_slow(reach, node.cast(), &self.shared) })
    }

    /// Gets a node, if there is one, and the nodes that have no room.
    ///
    /// # Safety
    ///
    /// As `Lanes::pop`: the lanes are this object's.
    pub unsafe fn get<C: Anchored>(&self, on: C, lane0: *mut Lane) -> (Option<Place>, Vec<Place>) {
        let reach = Reach { on, lane0: lane0.cast() };
        // SAFETY:
        // - passed on to the caller.
        if let Some(node) = unsafe { self.lanes.pop(reach) } {
            return (Some(node.cast()), Vec::new());
        }
        // SAFETY:
        // - passed on to the caller.
        let (node, over) = unsafe { self.lanes.pop_slow(reach, &self.shared) };
        (node.map(NonNull::cast), places(over))
    }

    /// Everything in the lanes and in the shared queue; `None` if somebody else drains, or the fence
    /// was refused.
    ///
    /// # Safety
    ///
    /// As `Lanes::take_over`.
    pub unsafe fn drain(
        &self,
        lane0: *mut Lane,
        spill: u32,
        fence: impl FnOnce() -> Result<(), NoFence>,
    ) -> Option<Vec<Place>> {
        let mut all = Vec::new();
        let found = |chain| all.extend(places(chain));
        // SAFETY:
        // - passed on to the caller.
        match unsafe { self.lanes.take_over(lane0.cast(), spill, fence, found) } {
            Err(Refused::Taken | Refused::NoFence) => return None,
            Ok(()) => {}
        }
        while let Some(batch) = self.shared.take() {
            all.extend(places(batch));
        }
        Some(all)
    }

    /// Puts a batch of one node into the shared queue. Says whether there was room.
    ///
    /// # Safety
    ///
    /// The node is the caller's, and begins with a [`Head`].
    pub unsafe fn share(&self, node: Place) -> bool {
        // SAFETY:
        // - passed on to the caller.
        let batch = unsafe { Chain::of(node.cast()) };
        match self.shared.put(batch) {
            Ok(()) => true,
            Err(batch) => {
                let _ = batch.into_head();
                false
            }
        }
    }

    /// A batch of the shared queue.
    pub fn unshare(&self) -> Vec<Place> {
        self.shared.take().map_or_else(Vec::new, places)
    }
}

fn places(mut chain: Chain) -> Vec<Place> {
    core::iter::from_fn(|| chain.pop()).map(NonNull::cast).collect()
}
