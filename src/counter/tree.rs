//! The tree of batches: what is carried up from a lane, and how far the root can be off.
//!
//! After the hierarchical per-CPU counters that Mathieu Desnoyers proposed for Linux in 2025
//! (<https://lore.kernel.org/lkml/20250408160508.991738-1-mathieu.desnoyers@efficios.com/>): a
//! counter a CPU, a tree of shared ones above them, batches that grow with each level, and the
//! root as the approximate sum. The code and the rule of carrying are our own, since here
//! nothing holds a thread on its CPU, and nobody may set a lane back.
//!
//! # The rule
//!
//! No word of the tree is ever set back: leaves (the lanes) and nodes only have something added, and an
//! update learns what was there before. A word `w` with batch `B`, a power of two, has passed on
//! `round(w)`: the multiple of `B` nearest to it, halves upwards. So an update that turns `w` into
//! `w'` passes `round(w') - round(w)` on to the word above, which is mostly nothing. That is decided
//! by the update itself, so each crossing is carried once, by the thread that made it, wherever that
//! thread is by then; the steps add up, whatever their order. All of it is arithmetic modulo 2^64, so
//! a word that wraps is no different.
//!
//! # The bound
//!
//! What a word holds back, `w - round(w)`, is one of `-B/2 .. B/2 - 1`. [`ARITY`] words carry to one node,
//! whose batch is [`ARITY`] times theirs; its word is a multiple of the batch below, `b`, so it holds
//! back between `-2b` and `b`. (The spill lane is no CPU's, and rarely used: it carries to the root, so
//! that 64 CPUs have no level more than 64 leaves need.) The true sum less the root is the sum of what is
//! held back, and of what is on its way: with `N` CPUs, batch `B` and `n` nodes of level `i`,
//!
//! ```text
//! at most   (N + 1) * (B/2 - 1) + sum over levels of n * b        b = B * ARITY^(i-1)
//! at least -(N + 1) *  B/2      - sum over levels of n * 2 * b
//! ```
//!
//! Both are reached. `n` is `N / ARITY^i` rounded up, so each level adds about `N * B / 2`, and all of them
//! `N * B / 2 * log N`. A flat counter has the same load on its one shared word only if its batch grows
//! with `N`, which makes it off by `N^2`.

use crate::cacheline::CacheLine;
use crate::error::{AllocError, BatchError};
use crate::sync::{AtomicU64, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// How many words carry to one.
const ARITY: usize = 4;
/// The largest batch of a leaf.
const MOST: u64 = 1 << 32;

/// A word that several CPUs update: alone in two lines, which x86-64 fetches together.
type Word = CacheLine<AtomicU64, 2>;

/// The words above the leaves.
#[derive(Debug)]
pub(super) struct Tree {
    root: Word,
    /// Level by level, the one above the leaves first.
    nodes: Box<[Word]>,
    /// Leaves of CPUs; the spill lane is one more.
    cpus: usize,
    batch: u64,
}

/// The multiple of `batch` that is nearest to `word`.
#[inline]
fn round(word: u64, batch: u64) -> u64 {
    word.wrapping_add(batch / 2) & !(batch - 1)
}

/// What an update of a word from `old` by `value` carries up.
#[inline]
fn step(old: u64, value: u64, batch: u64) -> u64 {
    round(old.wrapping_add(value), batch).wrapping_sub(round(old, batch))
}

/// The levels of nodes: how many nodes, and the batch of what carries to them.
fn levels(cpus: usize, batch: u64) -> impl Iterator<Item = (usize, u64)> {
    let mut below = (cpus, batch);
    core::iter::from_fn(move || {
        let (width, batch) = below;
        let level = (width > ARITY).then(|| (width.div_ceil(ARITY), batch))?;
        below = (level.0, batch * ARITY as u64);
        Some(level)
    })
}

impl Tree {
    /// A tree over words of zero: one for each CPU, and the spill lane's.
    pub(super) fn try_new(cpus: usize, batch: u64) -> Result<Self, BatchError> {
        if !batch.is_power_of_two() || batch > MOST {
            return Err(BatchError::Batch { asked: batch, most: MOST });
        }
        let count = levels(cpus, batch).map(|(width, _)| width).sum();
        let mut nodes = Vec::new();
        if nodes.try_reserve_exact(count).is_err() {
            let bytes = count * size_of::<Word>();
            return Err(AllocError::OutOfMemory { bytes }.into());
        }
        nodes.extend((0..count).map(|_| Word::new(AtomicU64::new(0))));
        let root = Word::new(AtomicU64::new(0));
        Ok(Self { root, nodes: nodes.into_boxed_slice(), cpus, batch })
    }

    /// The batch of the leaves.
    pub(super) fn batch(&self) -> u64 {
        self.batch
    }

    /// What an update of a leaf from `old` by `value` carries up: zero, mostly.
    #[inline]
    pub(super) fn step(&self, old: u64, value: u64) -> u64 {
        step(old, value, self.batch)
    }

    /// Carries `amount` from a leaf as far as it goes.
    #[cold]
    pub(super) fn carry(&self, leaf: usize, mut amount: u64) {
        let (mut index, mut begin) = (leaf, 0);
        let has_nodes = leaf < self.cpus;
        for (width, below) in levels(self.cpus, self.batch).filter(|_| has_nodes) {
            index /= ARITY;
            // Relaxed: a count orders nothing; the words agree once nobody carries.
            let old = self.nodes[begin + index].fetch_add(amount, Ordering::Relaxed);
            amount = step(old, amount, below * ARITY as u64);
            if amount == 0 {
                return;
            }
            begin += width;
        }
        // Relaxed: as above.
        self.root.fetch_add(amount, Ordering::Relaxed);
    }

    /// What has come up to the root.
    #[inline]
    pub(super) fn read(&self) -> i64 {
        // Relaxed: as in `carry`.
        self.root.load(Ordering::Relaxed) as i64
    }

    /// How much more than the root, and how much less, the leaves can sum up to.
    pub(super) fn bounds(&self) -> (u64, u64) {
        let (leaves, half) = (self.cpus as u64 + 1, self.batch / 2);
        let start = (leaves * half.saturating_sub(1), leaves * half);
        levels(self.cpus, self.batch).fold(start, |(more, less), (width, below)| {
            let held = width as u64 * below;
            (more + held, less + 2 * held)
        })
    }
}

#[cfg(all(test, not(corelocal_loom)))]
mod tests {
    use super::*;

    /// A tree, and its leaves, which are somebody else's.
    struct Whole {
        tree: Tree,
        leaves: Vec<u64>,
    }

    impl Whole {
        fn new(cpus: usize, batch: u64) -> Self {
            Self { tree: Tree::try_new(cpus, batch).unwrap(), leaves: vec![0; cpus + 1] }
        }

        fn add(&mut self, leaf: usize, value: i64) {
            let old = self.leaves[leaf];
            self.leaves[leaf] = old.wrapping_add(value as u64);
            let amount = self.tree.step(old, value as u64);
            if amount != 0 {
                self.tree.carry(leaf, amount);
            }
        }

        /// The true sum less the root.
        fn held_back(&self) -> i64 {
            let sum = self.leaves.iter().fold(0_u64, |sum, leaf| sum.wrapping_add(*leaf));
            (sum as i64).wrapping_sub(self.tree.read())
        }

        /// Makes every word below a node hold back the most (or the least) while the node itself
        /// passes `carry` on.
        fn fill(&mut self, leaf: usize, level: u32, carry: i64, most: bool) {
            let batch = self.tree.batch as i64;
            if level == 0 {
                self.add(leaf, carry + if most { (batch / 2 - 1).max(0) } else { -(batch / 2) });
                return;
            }
            let below = batch * (ARITY as i64).pow(level - 1);
            for child in 0..ARITY {
                let at = leaf + child * ARITY.pow(level - 1);
                if at < self.tree.cpus {
                    let own = if most { below } else { -2 * below };
                    self.fill(at, level - 1, if child == 0 { carry + own } else { 0 }, most);
                }
            }
        }
    }

    /// What the module's page says, written down another way.
    fn closed_form(cpus: u64, batch: u64) -> (i64, i64) {
        let (mut nodes, mut below) = (cpus, batch);
        let leaves = cpus + 1;
        let mut bounds = (leaves * (batch / 2).saturating_sub(1), leaves * (batch / 2));
        while nodes > 4 {
            nodes = nodes / 4 + u64::from(nodes % 4 != 0);
            bounds = (bounds.0 + nodes * below, bounds.1 + 2 * nodes * below);
            below *= 4;
        }
        (bounds.0 as i64, -(bounds.1 as i64))
    }

    const SIZES: [usize; 11] = [1, 2, 3, 4, 5, 16, 17, 64, 65, 257, 1024];

    #[test]
    fn the_root_is_off_by_as_much_as_is_said_and_not_by_more() {
        for cpus in SIZES {
            for batch in [1, 2, 32, 1 << 20] {
                let (most, least) = closed_form(cpus as u64, batch);
                let tree = Tree::try_new(cpus, batch).unwrap();
                assert_eq!(tree.bounds(), (most as u64, least.unsigned_abs()));
                let depth = levels(cpus, batch).count() as u32;
                for (fullest, bound) in [(true, most), (false, least)] {
                    let mut whole = Whole::new(cpus, batch);
                    for top in (0..cpus).step_by(ARITY.pow(depth)) {
                        whole.fill(top, depth, 0, fullest);
                    }
                    whole.fill(cpus, 0, 0, fullest);
                    assert_eq!(whole.held_back(), bound, "{cpus} CPUs, batch {batch}");
                    assert_eq!(whole.tree.read(), 0);
                }
            }
        }
    }

    #[test]
    fn the_bound_grows_by_n_log_n() {
        for (cpus, levels) in [(4, 1), (16, 2), (64, 3), (256, 4), (1024, 5), (4096, 6)] {
            let (more, less) = Tree::try_new(cpus, 32).unwrap().bounds();
            assert_eq!(less, cpus as u64 * 16 * levels + 16);
            assert!(more < less);
        }
    }

    #[test]
    fn after_any_updates_the_root_is_within_its_bounds() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for cpus in SIZES {
            for batch in [1, 8, 32, 4096] {
                let mut whole = Whole::new(cpus, batch);
                let (most, least) = closed_form(cpus as u64, batch);
                for _ in 0..4000 {
                    let (leaf, value) = (next() as usize % (cpus + 1), next() as i64);
                    // Small steps, steps of some batches, and steps that wrap the word.
                    whole.add(leaf, value >> [61, 50, 0][next() as usize % 3]);
                    let held = whole.held_back();
                    assert!((least..=most).contains(&held), "{held} with {cpus} of {batch}");
                }
            }
        }
    }

    #[test]
    fn a_batch_that_is_no_power_of_two_is_an_error() {
        for batch in [0, 3, 33, MOST + 1, MOST * 2, u64::MAX] {
            let refused = Tree::try_new(3, batch).unwrap_err();
            assert_eq!(refused, BatchError::Batch { asked: batch, most: MOST });
        }
        assert!(Tree::try_new(8192, MOST).is_ok());
    }

    /// Around a multiple of the batch, where many counters rest, nothing is carried to and fro.
    #[test]
    fn a_count_about_zero_stays_in_its_lane() {
        let tree = Tree::try_new(3, 32).unwrap();
        for (old, value) in [(0, 1), (1, -1), (0, -1), (-1, 1), (32, -1), (-16, 31)] {
            assert_eq!(tree.step(old as u64, value as u64), 0, "{old} and {value}");
        }
    }
}
