//! The queue's tree: ordered by deadline, each subtree with the least virtual run time in it.
//!
//! The pick asks for the first in the order of deadlines whose virtual run time is at most V. With
//! the subtree's minimum one descent answers that: go left where somebody there is eligible, else
//! take the node itself, else go right (the tree of Stoica and Abdel-Wahab 1995 is
//! ordered the other way round, by eligible time; the kernel orders it by deadline, as here).
//!
//! # Why a tree of our own
//!
//! The standard library's ordered sets keep no data about their subtrees. The augmented trees among
//! the crates are sequences that are addressed by cursors, which an insertion elsewhere makes
//! invalid, while here an entity must be taken out by its slot. So this is a treap (Seidel and
//! Aragon 1996): its nodes lie in one vector at the slots of the entities, links are indices,
//! nothing is allocated after a slot's first use, there is no `unsafe`, and rebalancing is the two
//! functions `split` and `merge`. Priorities are a hash of a counter, so a run is repeated exactly;
//! depth is O(log n) expected for every sequence of operations, as none of them depends on it.

use super::rules::{Rules, Sound};
use core::marker::PhantomData;

/// No node.
const NONE: u32 = u32::MAX;

/// Where in the order a node is: by deadline, equal ones as they came.
type Key = (i64, u64);

#[derive(Clone, Debug)]
struct Node {
    key: Key,
    vruntime: i64,
    slice: u64,
    /// The heap's order.
    priority: u32,
    left: u32,
    right: u32,
    // Of the subtree.
    least_vruntime: i64,
    least_slice: u64,
    longest_slice: u64,
}

/// An ordered set of slots.
#[derive(Clone, Debug)]
pub struct Timeline<R = Sound> {
    nodes: Vec<Node>,
    root: u32,
    arrivals: u64,
    rules: PhantomData<R>,
}

impl<R> Default for Timeline<R> {
    fn default() -> Self {
        Self { nodes: Vec::new(), root: NONE, arrivals: 0, rules: PhantomData }
    }
}

impl<R: Rules> Timeline<R> {
    /// Puts `slot` in its place. It must not be in the tree. O(log n) expected, as all here.
    pub fn insert(&mut self, slot: u32, deadline: i64, vruntime: i64, slice: u64) {
        let key = (deadline, self.arrivals);
        // The finalizer of SplitMix64 over the counter.
        let mut hash = self.arrivals.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.arrivals += 1;
        let node = Node {
            key,
            vruntime,
            slice,
            priority: (hash >> 32) as u32,
            left: NONE,
            right: NONE,
            least_vruntime: vruntime,
            least_slice: slice,
            longest_slice: slice,
        };
        let at = slot as usize;
        if at >= self.nodes.len() {
            self.nodes.resize(at + 1, node.clone());
        }
        self.nodes[at] = node;
        self.root = self.put(self.root, slot);
    }

    /// Takes `slot` out. It must be in the tree.
    pub fn remove(&mut self, slot: u32) {
        let key = self.nodes[slot as usize].key;
        self.root = self.cut(self.root, slot, key);
    }

    /// The slot with the earliest deadline among those that are eligible.
    #[inline]
    pub fn first(&self, eligible: impl Fn(i64) -> bool) -> Option<u32> {
        let mut at = self.root;
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.left != NONE && eligible(self.nodes[node.left as usize].least_vruntime) {
                at = node.left;
            } else if eligible(node.vruntime) {
                return Some(at);
            } else {
                at = node.right;
            }
        }
        None
    }

    /// The shortest and the longest slice in the tree.
    #[inline]
    pub fn slices(&self) -> Option<(u64, u64)> {
        let root = self.nodes.get(self.root as usize)?;
        Some((root.least_slice, root.longest_slice))
    }

    /// The key that decides between two slots with equal deadlines.
    pub fn arrival(&self, slot: u32) -> u64 {
        self.nodes[slot as usize].key.1
    }

    fn update(&mut self, at: u32) {
        let Node { left, right, vruntime, slice, .. } = self.nodes[at as usize];
        let (mut least, mut shortest, mut longest) = (vruntime, slice, slice);
        for child in [left, right] {
            if let Some(child) = self.nodes.get(child as usize) {
                least = least.min(child.least_vruntime);
                shortest = shortest.min(child.least_slice);
                longest = longest.max(child.longest_slice);
            }
        }
        let node = &mut self.nodes[at as usize];
        if R::KEEPS_SUBTREE_MINIMUM {
            node.least_vruntime = least;
        }
        (node.least_slice, node.longest_slice) = (shortest, longest);
    }

    /// Puts `slot` into the subtree at `at` and returns the subtree's root.
    fn put(&mut self, at: u32, slot: u32) -> u32 {
        let Some(node) = self.nodes.get(at as usize) else { return slot };
        let Node { key, priority, .. } = self.nodes[slot as usize];
        let root = if priority > node.priority {
            let (left, right) = self.split(at, key);
            let new = &mut self.nodes[slot as usize];
            (new.left, new.right) = (left, right);
            slot
        } else if key < node.key {
            self.nodes[at as usize].left = self.put(node.left, slot);
            at
        } else {
            self.nodes[at as usize].right = self.put(node.right, slot);
            at
        };
        self.update(root);
        root
    }

    /// Takes `slot`, whose key is `key`, out of the subtree at `at` and returns the subtree's root.
    fn cut(&mut self, at: u32, slot: u32, key: Key) -> u32 {
        let node = &self.nodes[at as usize];
        if at == slot {
            return self.merge(node.left, node.right);
        }
        if key < node.key {
            self.nodes[at as usize].left = self.cut(node.left, slot, key);
        } else {
            self.nodes[at as usize].right = self.cut(node.right, slot, key);
        }
        self.update(at);
        at
    }

    /// The subtrees of what is before `key`, and of the rest.
    fn split(&mut self, at: u32, key: Key) -> (u32, u32) {
        let Some(node) = self.nodes.get(at as usize) else { return (NONE, NONE) };
        let parts = if node.key < key {
            let (left, right) = self.split(node.right, key);
            self.nodes[at as usize].right = left;
            (at, right)
        } else {
            let (left, right) = self.split(node.left, key);
            self.nodes[at as usize].left = right;
            (left, at)
        };
        self.update(at);
        parts
    }

    /// One subtree of two, all of the first before all of the second.
    fn merge(&mut self, first: u32, second: u32) -> u32 {
        let (Some(a), Some(b)) = (self.nodes.get(first as usize), self.nodes.get(second as usize))
        else {
            return if first == NONE { second } else { first };
        };
        let root = if a.priority > b.priority {
            self.nodes[first as usize].right = self.merge(a.right, second);
            first
        } else {
            self.nodes[second as usize].left = self.merge(first, b.left);
            second
        };
        self.update(root);
        root
    }
}
