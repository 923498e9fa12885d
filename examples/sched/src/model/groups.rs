//! [`Groups`]: the table of task groups, read under an epoch guard as the kernel's list is under
//! RCU.

#![allow(unsafe_code, reason = "shared pointers under crossbeam-epoch")]

use super::Tg;
use crate::layout::Layout;
use core::fmt;
use crossbeam_epoch::{self as epoch, Atomic, Guard, Owned};
use std::sync::atomic::Ordering;

/// All groups by index: 0 is the root, the others in the order of the tree.
pub struct Groups<L: Layout> {
    slots: Box<[Atomic<Tg<L>>]>,
}

impl<L: Layout> Groups<L> {
    /// The table of `groups`, the root first, and `room` for more.
    pub(super) fn new(groups: impl Iterator<Item = Tg<L>>, room: usize) -> Self {
        let room = core::iter::repeat_with(Atomic::null).take(room);
        Self { slots: groups.map(Atomic::new).chain(room).collect() }
    }

    /// The root group: it stays as long as the table.
    pub fn root(&self) -> &Tg<L> {
        // SAFETY:
        // * nobody is given the table before `new` filled the root's slot, and `Model::release`
        //   refuses to take the root: no guard is needed.
        // Relaxed: the root is as old as the table.
        let root = unsafe { self.slots[0].load(Ordering::Relaxed, epoch::unprotected()) };
        // SAFETY:
        // * as above.
        unsafe { root.as_ref() }.expect("the root is there")
    }

    /// Puts a group that is wholly initialised into an empty slot.
    ///
    /// # Panics
    ///
    /// If the slot is taken: the caller must have reserved it.
    pub(super) fn put(&self, index: usize, group: Box<Tg<L>>, guard: &Guard) {
        let empty = crossbeam_epoch::Shared::null();
        // Release: pairs with the Acquire in `get`: who finds the group sees it initialised.
        // Relaxed on failure: it panics.
        let put = self.slots[index].compare_exchange(
            empty,
            Owned::from(group),
            Ordering::Release,
            Ordering::Relaxed,
            guard,
        );
        assert!(put.is_ok(), "slot {index} was reserved");
    }

    /// Slots, of released groups as well.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no slot: never, as the root has one.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The group at `index`, unless it was released.
    #[inline(always)]
    pub fn get<'g>(&'g self, index: usize, guard: &'g Guard) -> Option<&'g Tg<L>> {
        // Acquire: pairs with the Release in `take` of a neighbour's unlinking, and with what
        // published the model: the group's fields are seen as they were initialised.
        let group = L::touched(self.slots.get(index)?).load(Ordering::Acquire, guard);
        // SAFETY:
        // * a group that is taken out of its slot is dropped only after every guard that was
        //   pinned then is gone (`release`), and `guard` is pinned for `'g`.
        unsafe { group.as_ref() }
    }

    /// Where the table lies: address and bytes.
    pub fn memory(&self) -> (usize, usize) {
        (self.slots.as_ptr().addr(), size_of_val(&*self.slots))
    }

    /// All groups in order: the kernel's list of task groups.
    #[inline(always)]
    pub fn iter<'g>(&'g self, guard: &'g Guard) -> impl Iterator<Item = &'g Tg<L>> {
        (0..self.slots.len()).filter_map(move |index| self.get(index, guard))
    }

    /// Takes a group out of the table. The caller owns it, and readers may still use it.
    pub(super) fn take(&self, index: usize, guard: &Guard) -> Option<Taken<L>> {
        // AcqRel: Release pairs with the Acquire in `get`: a reader that misses the group sees
        // what was done before; Acquire because the group will be dropped.
        let group =
            self.slots[index].swap(crossbeam_epoch::Shared::null(), Ordering::AcqRel, guard);
        if group.is_null() {
            return None;
        }
        // SAFETY:
        // * the swap gave the pointer to this caller alone; `Taken` hands the group out only after
        //   a grace period.
        Some(Taken(unsafe { group.into_owned() }))
    }
}

/// A group out of the table, which readers that came before may still hold.
pub(super) struct Taken<L: Layout>(Owned<Tg<L>>);

impl<L: Layout> Taken<L> {
    /// Drops the group and its per-CPU state.
    ///
    /// # Safety
    ///
    /// Every guard that was pinned when the group was taken is gone.
    pub(super) unsafe fn free(self) {
        drop(self.0);
    }
}

impl<L: Layout> Drop for Groups<L> {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            // SAFETY:
            // * `&mut self`: there are no readers, their references borrow the table.
            drop(unsafe { core::mem::take(slot).try_into_owned() });
        }
    }
}

impl<L: Layout> fmt::Debug for Groups<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").field("slots", &self.slots.len()).finish()
    }
}
