//! Objects on their way: between who uses them, the lanes, the shared queue, and the heap.

use super::PerCpuPool;
use super::guard::Pooled;
use super::lanes::Reach;
use super::node::{Chain, Header, Node};
use super::objects::{Credit, Objects};
use super::shared::Shared;
use super::take_over::Refused;
use crate::percpu::PerCpu;
use crate::sys::rseq::{Anchored, Entry, fence_all};
use core::mem;
use core::ptr::NonNull;

impl<T> PerCpuPool<T> {
    pub(super) fn shared(&self) -> &Shared {
        &self.rest.shared
    }

    /// The way to the lanes.
    #[inline(always)]
    fn reach(&self) -> Reach<impl Anchored + '_> {
        // Looked up only where it is needed.
        let spill = move || self.lanes.as_ref().map_or(0, |lanes| lanes.cpus() as u32);
        Reach { on: Entry(spill), lane0: self.lane0 }
    }

    /// This CPU's object, with sections.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<Pooled<'_, T>> {
        // SAFETY:
        // - with sections the lanes are there, as many as `Entry` acts on; without, `pop` does nothing.
        let node = unsafe { self.lists.pop(self.reach()) }?;
        // SAFETY:
        // - what the lists hold are nodes of objects of this pool; popped, it is ours.
        Some(unsafe { Pooled::new(self, node.cast()) })
    }

    #[cold]
    #[inline(never)]
    pub(super) fn get_slow(&self) -> Pooled<'_, T> {
        match self.idle_slow() {
            Some(object) => object,
            None => self.new_object(self.rest.kept.claim(), (self.hooks.make)()),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn idle_slow(&self) -> Option<Pooled<'_, T>> {
        let shared = self.shared();
        let (node, over) = if self.lists.has_sections() {
            // SAFETY:
            // - as in `pop`.
            unsafe { self.lists.pop_slow(self.reach(), shared) }
        } else if let Some(here) = self.rest.magazines.here() {
            // SAFETY:
            // - a lane of this pool, which `Atomic` acts on.
            unsafe { self.lists.pop_slow(here, shared) }
        } else {
            self.pop_shared()
        };
        // SAFETY:
        // - objects of this pool, and ours.
        drop(unsafe { Objects::of(self, over) });
        // SAFETY:
        // - as in `pop`.
        node.map(|node| unsafe { Pooled::new(self, node.cast()) })
    }

    /// For a thread without a lane: what is left of the batch goes back.
    fn pop_shared(&self) -> (Option<NonNull<Header>>, Chain) {
        let Some(mut batch) = self.shared().take() else { return (None, Chain::EMPTY) };
        let first = batch.pop();
        (first, self.shared().put(batch).err().unwrap_or(Chain::EMPTY))
    }

    /// Pushes a node; returns what has no room.
    ///
    /// # Safety
    ///
    /// The caller owns the node, of an object of this pool, and gives it up.
    pub(super) unsafe fn push(&self, node: NonNull<Header>) -> Chain {
        let shared = self.shared();
        if self.lists.has_sections() {
            // SAFETY:
            // - the lanes as in `pop`, the node as the caller says.
            return unsafe { self.lists.push_slow(self.reach(), node, shared) };
        }
        if let Some(here) = self.rest.magazines.here() {
            // SAFETY:
            // - a lane of this pool, which `Atomic` acts on; the node as the caller says.
            return unsafe { self.lists.push_slow(here, node, shared) };
        }
        // SAFETY:
        // - passed on to the caller.
        shared.put(unsafe { Chain::of(node) }).err().unwrap_or(Chain::EMPTY)
    }

    /// An object comes back.
    ///
    /// # Safety
    ///
    /// The caller owns the node, of an object of this pool, and gives it up.
    #[inline(always)]
    pub(super) unsafe fn give_back(&self, node: NonNull<Node<T>>) {
        // SAFETY:
        // - the caller owns it.
        let is_plain = unsafe { node.as_ref() }.header.is_plain();
        // SAFETY:
        // - passed on to the caller.
        if !is_plain && !unsafe { self.check_in(node) } {
            return;
        }
        // SAFETY:
        // - the lanes as in `pop`, the node as the caller says.
        if unsafe { self.lists.push(self.reach(), node.cast()) } {
            return;
        }
        // SAFETY:
        // - passed on to the caller.
        unsafe { self.give_back_slow(node) };
    }

    /// # Safety
    ///
    /// As [`give_back`](Self::give_back).
    #[cold]
    #[inline(never)]
    unsafe fn give_back_slow(&self, node: NonNull<Node<T>>) {
        // SAFETY:
        // - passed on to the caller.
        let over = unsafe { self.push(node.cast()) };
        // SAFETY:
        // - objects of this pool, and ours.
        drop(unsafe { Objects::of(self, over) });
    }

    /// Resets an object that comes back, or drops it. Says whether it stays.
    ///
    /// # Safety
    ///
    /// As [`give_back`](Self::give_back), unless the answer is yes: then the node is still the
    /// caller's.
    #[inline(never)]
    unsafe fn check_in(&self, mut node: NonNull<Node<T>>) -> bool {
        /// Drops the object of a node.
        struct Goes<'a, T>(&'a PerCpuPool<T>, NonNull<Node<T>>);
        impl<T> Drop for Goes<'_, T> {
            fn drop(&mut self) {
                // SAFETY:
                // - `check_in` has the node, and says that it does not stay, or panics.
                drop(unsafe { self.0.open(self.1) });
            }
        }
        let goes = Goes(self, node);
        // SAFETY:
        // - the caller owns it.
        let node = unsafe { node.as_mut() };
        if !node.header.is_kept() {
            return false;
        }
        if let Some(reset) = &self.hooks.reset {
            reset(&mut node.value);
        }
        if self.hooks.keep_if.as_ref().is_some_and(|keep_if| !keep_if(&node.value)) {
            return false;
        }
        mem::forget(goes);
        true
    }

    pub(super) fn new_object(&self, credit: Option<Credit<'_>>, value: T) -> Pooled<'_, T> {
        // SAFETY:
        // - just made, and given up.
        unsafe { Pooled::new(self, Node::make(value, credit, self.has_hook)) }
    }

    /// Takes a node apart.
    ///
    /// # Safety
    ///
    /// The caller owns the node, of an object of this pool.
    pub(super) unsafe fn open(&self, node: NonNull<Node<T>>) -> (T, Option<Credit<'_>>) {
        // SAFETY:
        // - passed on to the caller.
        unsafe { Node::open(node, &self.rest.kept) }
    }

    /// Makes objects into the shared queue, which has room for them.
    pub(super) fn fill_shared(&self, mut objects: usize) {
        while objects > 0 {
            let mut batch = Objects::new(self);
            for _ in 0..objects.min(self.lists.most()) {
                let node = Node::make((self.hooks.make)(), self.rest.kept.claim(), self.has_hook);
                // SAFETY:
                // - just made, and given up.
                unsafe { batch.push(node.cast()) };
            }
            objects -= batch.len();
            if let Err(over) = self.shared().put(batch.take_first()) {
                // SAFETY:
                // - objects of this pool, and ours.
                drop(unsafe { Objects::of(self, over) });
            }
        }
    }

    /// How many lists there are in lanes.
    pub(super) fn lists(&self) -> usize {
        let lanes = self.lanes.as_ref().map_or(0, PerCpu::lanes);
        2 * (lanes + self.rest.magazines.iter().count())
    }

    /// Takes over every lane.
    pub(super) fn take_lanes(&self, mut found: impl FnMut(Chain)) -> Result<(), Refused> {
        if let Some(lanes) = &self.lanes {
            let spill = lanes.cpus() as u32;
            // SAFETY:
            // - the lanes of this pool, up to the spill lane;
            // - `fence_all` ends every section that began earlier.
            unsafe { self.lists.take_over(self.lane0, spill, fence_all, &mut found) }?;
        }
        for lane in self.rest.magazines.iter() {
            // SAFETY:
            // - a lane of this pool.
            unsafe { self.lists.take_lane(lane, &mut found) };
        }
        Ok(())
    }
}

impl<T> Drop for PerCpuPool<T> {
    fn drop(&mut self) {
        /// Goes on when an object's drop panics.
        struct Again<'a, T>(&'a PerCpuPool<T>);
        impl<T> Drop for Again<'_, T> {
            fn drop(&mut self) {
                self.0.drop_idle();
            }
        }
        let again = Again(self);
        again.0.drop_idle();
    }
}

impl<T> PerCpuPool<T> {
    /// Drops every object; nobody else uses the pool any more.
    fn drop_idle(&self) {
        // SAFETY:
        // - what the lists hold are objects of this pool.
        let found = |chain| drop(unsafe { Objects::of(self, chain) });
        if let Some(lanes) = &self.lanes {
            // SAFETY:
            // - the lanes of this pool, which nobody else uses.
            unsafe { self.lists.sweep(self.lane0, lanes.lanes(), found) };
        }
        for lane in self.rest.magazines.iter() {
            // SAFETY:
            // - as above.
            unsafe { self.lists.sweep(lane, 1, found) };
        }
        while let Some(batch) = self.shared().take() {
            found(batch);
        }
    }
}
