//! What models reach of the tree that no counter shows by itself: more leaves than a machine has
//! CPUs.

use super::tree::Tree;
use crate::sync::{AtomicU64, Ordering};
use alloc::vec::Vec;

/// A tree over leaves that it is given.
#[derive(Debug)]
pub struct Batches {
    leaves: Vec<AtomicU64>,
    tree: Tree,
}

impl Batches {
    /// Leaves of zero: one for each CPU, and the spill lane's.
    ///
    /// # Panics
    ///
    /// If the batch is no power of two.
    pub fn new(cpus: usize, batch: u64) -> Self {
        let tree = Tree::try_new(cpus, batch).expect("a power of two");
        Self { leaves: (0..=cpus).map(|_| AtomicU64::new(0)).collect(), tree }
    }

    /// An update of a leaf, which is one step as a section's commit is.
    pub fn add(&self, leaf: usize, value: i64) {
        // Relaxed: as the cells of a counter.
        let old = self.leaves[leaf].fetch_add(value as u64, Ordering::Relaxed);
        let amount = self.tree.step(old, value as u64);
        if amount != 0 {
            self.tree.carry(leaf, amount);
        }
    }

    /// The root, and how much more and less the leaves can sum up to.
    pub fn read(&self) -> (i64, u64, u64) {
        let (more, less) = self.tree.bounds();
        (self.tree.read(), more, less)
    }
}
