//! Release of a group, with readers under way: two grace periods, as in the kernel.
//!
//! 1. Unlink: the group takes no more tasks and children, and leaves its parent's children and the
//!    walks' next words. Then wait: who reached it before may still put its queues back on a leaf
//!    list (the throttle walk does).
//! 2. Unregister: its queues leave the leaf lists for good, and the group leaves the table. Then
//!    wait: who found it there may still read it. Only then is the per-CPU state freed, and the
//!    slot given to the next group.
//!
//! No lock is held while waiting.

#![allow(unsafe_code, reason = "frees a group after the grace periods")]

use super::{Locked, Model, Tg, leaf};
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
    /// It has tasks, or a child is being created in it.
    HasTasks,
    /// The calling thread is itself a reader: it would wait for itself.
    Pinned,
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "the root group cannot be released",
            Self::NotThere => "there is no such group",
            Self::HasChildren => "the group has children: release them first",
            Self::HasTasks => "the group has tasks or a child to be: they must leave first",
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
        self.release_with(index, |_, _| ())
    }

    /// The same, with `last` called on each CPU, its run queue locked, before the group's queue
    /// leaves the leaf list there for good (`unregister_fair_sched_group`).
    ///
    /// # Errors
    ///
    /// [`ReleaseError`].
    pub fn release_with(
        &self,
        index: usize,
        last: impl FnMut(&Locked<'_, L>, &Tg<L>),
    ) -> Result<(), ReleaseError> {
        if epoch::is_pinned() {
            return Err(ReleaseError::Pinned);
        }
        let tree = self.tree_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.unlink(index)?;
        drop(tree);
        wait_for_readers();
        let taken = self.unregister(index, last);
        wait_for_readers();
        // SAFETY:
        // * the guards that were pinned when the group was taken are gone.
        unsafe { taken.free() };
        self.give_back(index);
        Ok(())
    }

    /// The slot is free for another group.
    pub(super) fn give_back(&self, index: usize) {
        let tree = self.tree_lock.lock();
        tree.unwrap_or_else(PoisonError::into_inner).push(index);
    }

    /// The last group before `index` in the list of all groups.
    pub(super) fn listed_before<'g>(&'g self, index: usize, guard: &'g epoch::Guard) -> &'g Tg<L> {
        let listed = |i| {
            let tg = self.groups.get(i, guard)?;
            (tg.links.tasks.get() != TreeLinks::CLOSED).then_some(tg)
        };
        (0..index).rev().find_map(listed).expect("the root is listed")
    }

    /// Takes the group out of its parent's children and out of the walks' next words.
    fn unlink(&self, index: usize) -> Result<(), ReleaseError> {
        let guard = &epoch::pin();
        if index == 0 {
            return Err(ReleaseError::Root);
        }
        let tg = self.groups.get(index, guard).ok_or(ReleaseError::NotThere)?;
        if tg.links.tasks.get() == TreeLinks::CLOSED {
            return Err(ReleaseError::NotThere);
        }
        if tg.links.child.get() != TreeLinks::NONE {
            return Err(ReleaseError::HasChildren);
        }
        let close = |tasks| (tasks == 0).then_some(TreeLinks::CLOSED);
        tg.links.tasks.try_update(close).map_err(|_| ReleaseError::HasTasks)?;
        let at = index as u32;
        let parent = tg.links.parent.get() as usize;
        let mut link = &self.groups.get(parent, guard).expect("a parent stays").links.child;
        while link.get() != at {
            let next = self.groups.get(link.get() as usize, guard).expect("a child is there");
            link = &next.links.sibling;
        }
        // The group's own links stay: a reader at the group goes on from there.
        link.set(tg.links.sibling.get());
        let before = self.listed_before(index, guard);
        for cpu in self.cpus() {
            let next = L::tg_cfs_rq(tg, cpu).plain().throttled_pelt_idle().get();
            L::tg_cfs_rq(before, cpu).plain().throttled_pelt_idle().set(next);
        }
        Ok(())
    }

    /// Takes the group's queues off the leaf lists and the group out of the table.
    fn unregister(
        &self,
        index: usize,
        mut last: impl FnMut(&Locked<'_, L>, &Tg<L>),
    ) -> super::groups::Taken<L> {
        let guard = &epoch::pin();
        let tg = self.groups.get(index, guard).expect("only its holder takes it out");
        for cpu in self.cpus() {
            let locked = Locked::new(self, guard, cpu);
            last(&locked, tg);
        }
        // From here on `leaf::add` refuses the group. Whoever takes a run queue's lock after the
        // loop below has had it sees that; who had it before has its addition undone.
        tg.links.dead.set(1);
        for cpu in self.cpus() {
            let locked = Locked::new(self, guard, cpu);
            leaf::remove(locked.rq, L::tg_cfs_rq(tg, cpu).plain());
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
