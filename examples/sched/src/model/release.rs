//! Release of a group, with readers under way: two grace periods, as in the kernel.
//!
//! 1. Unlink: the group leaves its parent's children and the walks' next words. Then wait: who
//!    reached it before may still put its queues back on a leaf list.
//! 2. Unregister: its queues leave the leaf lists, and the group leaves the table. Then wait: who
//!    found it there may still read it. Only then is the per-CPU state freed.

#![allow(unsafe_code, reason = "frees a group after the grace periods")]

use super::{Model, leaf};
use crate::layout::{Held, Layout};
use crate::structs::{CfsRqFields, TreeLinks};
use core::fmt;
use crossbeam_epoch as epoch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

/// Why a group was not released. Nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseError {
    /// The root group stays.
    Root,
    /// There is no such group, or it was released.
    NotThere,
    /// The children must be released first.
    HasChildren,
    /// The calling thread is itself a reader: it would wait for itself.
    Pinned,
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "the root group cannot be released",
            Self::NotThere => "there is no such group",
            Self::HasChildren => "the group has children: release them first",
            Self::Pinned => "the calling thread holds an epoch guard: drop it first",
        })
    }
}

impl std::error::Error for ReleaseError {}

impl<L: Layout> Model<L> {
    /// Releases the group at `index` and frees its per-CPU state. Waits for all readers that are
    /// under way, twice; new readers may come meanwhile.
    ///
    /// # Errors
    ///
    /// [`ReleaseError`].
    pub fn release(&self, index: usize) -> Result<(), ReleaseError> {
        if epoch::is_pinned() {
            return Err(ReleaseError::Pinned);
        }
        let tree = self.tree_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.unlink(index)?;
        wait_for_readers();
        let taken = self.unregister(index);
        drop(tree);
        wait_for_readers();
        // SAFETY:
        // * the guards that were pinned when the group was taken are gone.
        unsafe { taken.free() };
        Ok(())
    }

    /// Takes the group out of its parent's children and out of the walks' next words.
    fn unlink(&self, index: usize) -> Result<(), ReleaseError> {
        let guard = &epoch::pin();
        if index == 0 {
            return Err(ReleaseError::Root);
        }
        let tg = self.groups.get(index, guard).ok_or(ReleaseError::NotThere)?;
        if tg.links.child.get() != TreeLinks::NONE {
            return Err(ReleaseError::HasChildren);
        }
        let at = index as u32;
        let parent = tg.links.parent.get() as usize;
        let mut link = &self.groups.get(parent, guard).expect("a parent stays").links.child;
        while link.get() != at {
            let next = self.groups.get(link.get() as usize, guard).expect("a child is there");
            link = &next.links.sibling;
        }
        // The group's own links stay: a reader at the group goes on from there.
        link.set(tg.links.sibling.get());
        // The root stays, so there is a group before.
        let before = (0..index).rev().find_map(|i| self.groups.get(i, guard)).expect("the root");
        for cpu in self.cpus() {
            let next = L::tg_cfs_rq(tg, cpu).plain().throttled_pelt_idle().get();
            L::tg_cfs_rq(before, cpu).plain().throttled_pelt_idle().set(next);
        }
        Ok(())
    }

    /// Takes the group's queues off the leaf lists and the group out of the table.
    fn unregister(&self, index: usize) -> super::groups::Taken<L> {
        let guard = &epoch::pin();
        let tg = self.groups.get(index, guard).expect("only its holder takes it out");
        for cpu in self.cpus() {
            let _held = self.lock_rq(cpu);
            leaf::remove(self.rq(cpu), L::tg_cfs_rq(tg, cpu).plain());
        }
        self.groups.take(index, guard).expect("only its holder takes it out")
    }
}

/// Returns when every guard that was pinned at the call is gone.
fn wait_for_readers() {
    let gone = Arc::new(AtomicBool::new(false));
    {
        let guard = epoch::pin();
        let gone = Arc::clone(&gone);
        // Release: pairs with the Acquire below.
        guard.defer(move || gone.store(true, Ordering::Release));
        guard.flush();
    }
    // Acquire: pairs with the Release above: what the readers did is seen.
    while !gone.load(Ordering::Acquire) {
        epoch::pin().flush();
        std::thread::yield_now();
    }
}
