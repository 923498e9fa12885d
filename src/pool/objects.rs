//! Nodes with their objects: made, counted, dropped.

use super::PerCpuPool;
use super::node::{Chain, Header, Node};
use crate::sync::{AtomicUsize, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;
use core::ptr::NonNull;

/// How many objects a pool keeps, idle and in use, and how many it may.
#[derive(Debug)]
pub(super) struct Kept {
    now: AtomicUsize,
    most: usize,
}

impl Kept {
    pub(super) fn new(most: usize) -> Self {
        Self { now: AtomicUsize::new(0), most }
    }

    pub(super) fn now(&self) -> usize {
        // Relaxed: a count.
        self.now.load(Ordering::Relaxed)
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// One object more, unless the bound is reached.
    pub(super) fn claim(&self) -> Option<Credit<'_>> {
        let more = |now: usize| (now < self.most).then(|| now + 1);
        // Relaxed, both: a count, which bounds by itself and orders nothing.
        let claimed = self.now.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        claimed.is_ok().then(|| Credit(self))
    }
}

/// One object of those that a pool may keep; given back when it is dropped.
pub(super) struct Credit<'a>(&'a Kept);

impl Credit<'_> {
    /// Goes into the header of a node.
    fn into_node(self) {
        mem::forget(self);
    }
}

impl Drop for Credit<'_> {
    fn drop(&mut self) {
        // Relaxed: a count.
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Node<T> {
    /// A node, counted if there is a credit for it, of a pool that has a hook for those that come
    /// back.
    pub(super) fn make(value: T, credit: Option<Credit<'_>>, has_hook: bool) -> NonNull<Self> {
        let header = Header::new(credit.is_some(), has_hook);
        let node = Box::new(Self::new(header, value));
        if let Some(credit) = credit {
            credit.into_node();
        }
        NonNull::from(Box::leak(node))
    }

    /// Takes a node apart.
    ///
    /// # Safety
    ///
    /// The caller owns the node, which [`make`](Self::make) made with a credit of `kept` or none.
    pub(super) unsafe fn open(node: NonNull<Self>, kept: &Kept) -> (T, Option<Credit<'_>>) {
        // SAFETY:
        // - made by a box, and the caller's.
        let node = unsafe { Box::from_raw(node.as_ptr()) };
        let credit = node.header.is_kept().then(|| Credit(kept));
        (node.value, credit)
    }
}

/// Idle objects that were taken out of the lists; those that are left are dropped with it, also
/// when one of them panics.
pub(super) struct Objects<'a, T> {
    pool: &'a PerCpuPool<T>,
    first: Chain,
    more: Vec<Chain>,
}

impl<'a, T> Objects<'a, T> {
    pub(super) fn new(pool: &'a PerCpuPool<T>) -> Self {
        Self { pool, first: Chain::EMPTY, more: Vec::new() }
    }

    /// The objects of one list.
    ///
    /// # Safety
    ///
    /// The nodes are those of objects of `pool`.
    pub(super) unsafe fn of(pool: &'a PerCpuPool<T>, chain: Chain) -> Self {
        Self { pool, first: chain, more: Vec::new() }
    }

    /// Makes room, so that so many calls of [`add`](Self::add) do not allocate.
    pub(super) fn reserve(&mut self, chains: usize) {
        self.more.reserve(chains);
    }

    /// # Safety
    ///
    /// As [`of`](Self::of).
    pub(super) unsafe fn add(&mut self, chain: Chain) {
        if !chain.is_empty() {
            self.more.push(chain);
        }
    }

    /// The lists that they lie in, but for the one that [`pop`](Self::pop) is at.
    pub(super) fn chains(&mut self) -> &mut Vec<Chain> {
        &mut self.more
    }

    /// # Safety
    ///
    /// The caller owns the node, of an object of the pool, and gives it up.
    pub(super) unsafe fn push(&mut self, node: NonNull<Header>) {
        // SAFETY:
        // - passed on to the caller.
        unsafe { self.first.push(node) };
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.more.iter().map(Chain::len).sum::<usize>()
    }

    /// The node of one of them; it is the caller's.
    pub(super) fn take(&mut self) -> Option<NonNull<Header>> {
        loop {
            if let Some(node) = self.first.pop() {
                return Some(node);
            }
            self.first = self.more.pop()?;
        }
    }

    /// The list that [`push`](Self::push) pushes to.
    pub(super) fn take_first(&mut self) -> Chain {
        mem::replace(&mut self.first, Chain::EMPTY)
    }

    /// One of them, and what makes it count: dropped in this order.
    pub(super) fn pop(&mut self) -> Option<(T, Option<Credit<'a>>)> {
        let node = self.take()?;
        // SAFETY:
        // - the nodes in the lists are those of objects of the pool, and ours.
        Some(unsafe { self.pool.open(node.cast()) })
    }
}

impl<T> Drop for Objects<'_, T> {
    fn drop(&mut self) {
        /// Goes on when an object's drop panics. (A second panic then ends the process, as it does
        /// for a `Vec`.)
        struct Rest<'r, 'a, T>(&'r mut Objects<'a, T>);
        impl<T> Drop for Rest<'_, '_, T> {
            fn drop(&mut self) {
                while self.0.pop().is_some() {}
            }
        }
        let rest = Rest(self);
        while rest.0.pop().is_some() {}
    }
}
