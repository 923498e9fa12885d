//! Objects in lists: a header before the object, and lists that one thread owns.

use crate::cacheline::CacheLine;
use core::ptr::{self, NonNull};

/// What lies before each object. The lists of the lanes are linked through it.
///
/// A header is written by whoever owns its node, and by the section that pushes the node, in the
/// name of its owner. It is read by sections while the node is in the list of their CPU.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// The address of the node below, 0 at the end.
    next: usize,
    /// Nodes from here to the end of the list, this one included.
    depth: u32,
    /// [`KEPT`](Self::KEPT), and [`SLOW`](Self::SLOW).
    flags: u32,
}

impl Header {
    /// Where the link lies, and behind it the count.
    pub(super) const NEXT: usize = 0;

    /// The node counts among those that the pool keeps. Else it goes when it comes back.
    const KEPT: u32 = 1;
    /// Something is to be done when it comes back.
    const SLOW: u32 = 2;

    /// The header of a node that is in no list.
    pub(crate) fn new(kept: bool, has_hook: bool) -> Self {
        let kept = if kept { Self::KEPT } else { 0 };
        Self { next: 0, depth: 0, flags: kept | if has_hook { Self::SLOW } else { 0 } }
    }

    /// Whether the node counts among those that the pool keeps.
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "models have no objects"))]
    pub(super) fn is_kept(&self) -> bool {
        self.flags & Self::KEPT != 0
    }

    /// Whether the node goes back as it is.
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "models have no objects"))]
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.flags == Self::KEPT
    }
}

// The contract of `list_push_within`: the count follows the link.
const _: () = assert!(core::mem::offset_of!(Header, depth) == Header::NEXT + size_of::<usize>());

/// An object with its header, on cache lines of their own: objects that lie side by side on the heap
/// may be used on different CPUs, for ever.
#[cfg_attr(corelocal_loom, allow(dead_code, reason = "models have nodes of their own"))]
#[repr(C)]
#[derive(Debug)]
pub(super) struct Node<T> {
    pub(super) header: Header,
    pub(super) value: T,
    apart: [CacheLine<()>; 0],
}

#[cfg_attr(corelocal_loom, allow(dead_code, reason = "as above"))]
impl<T> Node<T> {
    pub(super) fn new(header: Header, value: T) -> Self {
        Self { header, value, apart: [] }
    }
}

/// A list that belongs to whoever has this value. Forgetting it loses the nodes.
#[must_use = "its nodes would be lost"]
#[derive(Debug)]
pub(crate) struct Chain(usize);

impl Chain {
    /// No nodes.
    pub(super) const EMPTY: Self = Self(0);

    /// The list that begins at the address `head`; 0 is none.
    ///
    /// # Safety
    ///
    /// The caller owns the nodes of that list; their headers count.
    #[inline]
    pub(super) unsafe fn from_head(head: usize) -> Self {
        Self(head)
    }

    /// The address of the first node; the caller owns the list from now on.
    #[inline]
    pub(super) fn into_head(self) -> usize {
        self.0
    }

    /// A list of this node alone.
    ///
    /// # Safety
    ///
    /// The caller owns the node, and gives it up.
    pub(super) unsafe fn of(node: NonNull<Header>) -> Self {
        let mut chain = Self::EMPTY;
        // SAFETY:
        // - passed on to the caller.
        unsafe { chain.push(node) };
        chain
    }

    #[inline]
    fn first(&self) -> Option<NonNull<Header>> {
        NonNull::new(ptr::with_exposed_provenance_mut(self.0))
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        // SAFETY:
        // - the list owns its nodes.
        self.first().map_or(0, |node| unsafe { node.as_ref() }.depth as usize)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Puts a node before the others.
    ///
    /// # Safety
    ///
    /// The caller owns the node, and gives it up.
    pub(super) unsafe fn push(&mut self, mut node: NonNull<Header>) {
        let depth = self.len() as u32 + 1;
        // SAFETY:
        // - the caller owns the node.
        let header = unsafe { node.as_mut() };
        header.next = self.0;
        header.depth = depth;
        self.0 = node.as_ptr().expose_provenance();
    }

    /// Takes the first node out; it is the caller's.
    pub(super) fn pop(&mut self) -> Option<NonNull<Header>> {
        let node = self.first()?;
        // SAFETY:
        // - the list owns its nodes.
        self.0 = unsafe { node.as_ref() }.next;
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_gives_back_what_it_was_given_last_first() {
        let mut headers: Vec<Header> = (0..5).map(|_| Header::new(true, false)).collect();
        let nodes: Vec<NonNull<Header>> = headers.iter_mut().map(NonNull::from).collect();
        let mut chain = Chain::EMPTY;
        for (count, node) in nodes.iter().enumerate() {
            assert_eq!(chain.len(), count);
            // SAFETY:
            // - the nodes are this test's.
            unsafe { chain.push(*node) };
        }
        for node in nodes.iter().rev() {
            assert_eq!(chain.pop(), Some(*node));
        }
        assert!(chain.pop().is_none() && chain.is_empty());
    }
}
