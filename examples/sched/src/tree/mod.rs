//! The shape of a tree of task groups, before any memory is taken for it.

pub mod cgroup;
pub mod listing;

use core::fmt;

/// The most groups that a tree may have.
pub const MAX_GROUPS: u64 = 1_000_000;
/// The kernel's bounds of `cpu.shares`.
pub const SHARES: core::ops::RangeInclusive<u64> = 2..=262_144;
/// The weight of a group for which nothing was set.
pub const DEFAULT_SHARES: u64 = 1024;
/// The period of a group for which nothing was set, in microseconds.
pub const DEFAULT_PERIOD: u64 = 100_000;

/// What a group was given of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The weight, as in `cpu.shares`: 1024 is one ordinary task.
    pub shares: u64,
    /// Microseconds in each period; `None` without a limit.
    pub quota: Option<u64>,
    /// Microseconds.
    pub period: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { shares: DEFAULT_SHARES, quota: None, period: DEFAULT_PERIOD }
    }
}

/// One group below the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The path from the root, `/a/b`, as the bytes that the file system gave.
    pub path: Vec<u8>,
    /// The parent: 0 is the root, `n` is `groups[n - 1]`, which stands before this one.
    pub parent: usize,
    /// Shares, quota and period.
    pub limits: Limits,
}

/// A tree of groups in the order in which they are created: a parent before its children, the
/// children of one parent by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tree {
    /// All groups but the root.
    pub groups: Vec<Group>,
}

/// Why there is no such tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TreeError {
    /// `width` or `depth` is 0.
    Zero(&'static str),
    /// More groups than [`MAX_GROUPS`]; `None` if their number does not even fit 128 bits.
    TooMany(Option<u128>),
    /// Two groups of one path: the tree would have a cycle.
    Twice(Vec<u8>),
    /// A group whose parent is not there.
    Orphan(Vec<u8>),
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => write!(f, "{what} is 0: a tree needs at least 1"),
            Self::TooMany(Some(groups)) => {
                let bytes = groups.saturating_mul(2 * 1088);
                write!(
                    f,
                    "{groups} groups are more than the limit of {MAX_GROUPS}; one layout would \
                     take {} GiB even on 2 CPUs",
                    bytes >> 30
                )
            }
            Self::TooMany(None) => write!(
                f,
                "more than 2^128 groups are more than the limit of {MAX_GROUPS}; no memory is \
                 enough"
            ),
            Self::Twice(path) => {
                write!(f, "group {} is given twice: the tree has a cycle", listing::escape(path))
            }
            Self::Orphan(path) => {
                write!(f, "group {} is an orphan: its parent is not given", listing::escape(path))
            }
        }
    }
}

impl std::error::Error for TreeError {}

impl Tree {
    /// `width` children below every group, `depth` levels below the root, all with ordinary
    /// shares and, as in the kernel's benchmark, a quota on the leaves only: 80 % of a CPU shared
    /// by all leaves.
    ///
    /// # Errors
    ///
    /// [`TreeError::Zero`], or [`TreeError::TooMany`] before anything is allocated.
    pub fn regular(width: u64, depth: u64) -> Result<Self, TreeError> {
        if width == 0 {
            return Err(TreeError::Zero("width"));
        }
        if depth == 0 {
            return Err(TreeError::Zero("depth"));
        }
        let total = regular_size(width, depth);
        if total.is_none_or(|n| n > u128::from(MAX_GROUPS)) {
            return Err(TreeError::TooMany(total));
        }
        let leaves = width.pow(u32::try_from(depth).expect("depth <= groups <= MAX_GROUPS"));
        let leaf_quota = (DEFAULT_PERIOD * 4 / 5 / leaves).max(1);
        let mut tree = Self::default();
        // The stack of (group, level, children that it still lacks), not recursion: a tree of
        // width 1 may be a million levels deep.
        let mut open = vec![(0_usize, 0_u64, 0_u64)];
        while let Some((parent, level, made)) = open.pop() {
            if made == width {
                continue;
            }
            open.push((parent, level, made + 1));
            let mut path =
                if parent == 0 { Vec::new() } else { tree.groups[parent - 1].path.clone() };
            // Names of a long chain are cut, or its paths alone would take gigabytes.
            if path.len() < 64 {
                path.extend_from_slice(format!("/{made}").as_bytes());
            }
            let leaf = level + 1 == depth;
            let quota = leaf.then_some(leaf_quota);
            tree.groups.push(Group { path, parent, limits: Limits { quota, ..Limits::default() } });
            if !leaf {
                open.push((tree.groups.len(), level + 1, 0));
            }
        }
        Ok(tree)
    }

    /// A tree of `(path, limits)` in any order.
    ///
    /// # Errors
    ///
    /// [`TreeError::Twice`], [`TreeError::Orphan`], [`TreeError::TooMany`].
    pub fn from_paths(mut groups: Vec<(Vec<u8>, Limits)>) -> Result<Self, TreeError> {
        if groups.len() as u64 > MAX_GROUPS {
            return Err(TreeError::TooMany(Some(groups.len() as u128)));
        }
        // By components, so that `/a-b` does not come between `/a` and `/a/b`.
        groups.sort_by(|(a, _), (b, _)| a.split(|&c| c == b'/').cmp(b.split(|&c| c == b'/')));
        let mut tree = Self::default();
        // The groups from the root to the one before: the parent is among them or missing.
        let mut branch: Vec<usize> = Vec::new();
        for (path, limits) in groups {
            let (above, _) = path.split_at(path.iter().rposition(|&c| c == b'/').unwrap_or(0));
            if tree.groups.last().is_some_and(|last| last.path == path) {
                return Err(TreeError::Twice(path));
            }
            while branch.last().is_some_and(|&at| tree.groups[at - 1].path != above) {
                branch.pop();
            }
            let parent = branch.last().copied().unwrap_or(0);
            if parent == 0 && !above.is_empty() {
                return Err(TreeError::Orphan(path));
            }
            tree.groups.push(Group { path, parent, limits });
            branch.push(tree.groups.len());
        }
        Ok(tree)
    }

    /// The largest number of children of one group.
    pub fn width(&self) -> usize {
        let mut children = vec![0_usize; self.groups.len() + 1];
        for group in &self.groups {
            children[group.parent] += 1;
        }
        children.into_iter().max().unwrap_or(0)
    }

    /// The number of levels below the root.
    pub fn depth(&self) -> usize {
        let mut level = vec![0_usize; self.groups.len() + 1];
        for (at, group) in self.groups.iter().enumerate() {
            level[at + 1] = level[group.parent] + 1;
        }
        level.into_iter().max().unwrap_or(0)
    }
}

/// `width + width^2 + ... + width^depth`, or `None` above 2^128.
pub fn regular_size(width: u64, depth: u64) -> Option<u128> {
    let width = u128::from(width);
    if width <= 1 {
        return Some(width * u128::from(depth));
    }
    let (mut level, mut total) = (1_u128, 0_u128);
    // At most 128 steps: a level at least doubles until it overflows.
    for _ in 0..depth {
        level = level.checked_mul(width)?;
        total = total.checked_add(level)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_trees_have_the_published_sizes() {
        for (width, depth, groups) in [(10, 3, 1110), (4, 5, 1364), (1, 7, 7), (5, 1, 5)] {
            let tree = Tree::regular(width, depth).unwrap();
            assert_eq!(tree.groups.len(), groups);
            assert_eq!((tree.width() as u64, tree.depth() as u64), (width, depth));
            assert_eq!(regular_size(width, depth), Some(groups as u128));
        }
    }

    #[test]
    fn a_regular_tree_equals_the_tree_of_its_paths() {
        let tree = Tree::regular(3, 4).unwrap();
        let mut groups: Vec<_> = tree.groups.iter().map(|g| (g.path.clone(), g.limits)).collect();
        crate::rng::Rng::new(7).shuffle(&mut groups);
        assert_eq!(Tree::from_paths(groups).unwrap(), tree);
    }

    #[test]
    fn a_quota_is_on_the_leaves_only() {
        let tree = Tree::regular(2, 2).unwrap();
        let quotas: Vec<_> = tree.groups.iter().map(|g| g.limits.quota).collect();
        let leaf = Some(20_000);
        assert_eq!(quotas, [None, leaf, leaf, None, leaf, leaf]);
    }

    #[test]
    fn impossible_trees_are_refused_before_they_take_memory() {
        assert_eq!(Tree::regular(0, 3), Err(TreeError::Zero("width")));
        assert_eq!(Tree::regular(3, 0), Err(TreeError::Zero("depth")));
        assert_eq!(Tree::regular(1000, 3), Err(TreeError::TooMany(Some(1_001_001_000))));
        assert_eq!(Tree::regular(1, u64::MAX), Err(TreeError::TooMany(Some(u64::MAX.into()))));
        assert_eq!(Tree::regular(u64::MAX, u64::MAX), Err(TreeError::TooMany(None)));
        let said = TreeError::TooMany(Some(1_001_001_000)).to_string();
        assert!(said.contains("1000000") && said.contains("GiB"), "{said}");
    }

    #[test]
    fn a_chain_as_deep_as_the_limit_is_built_without_recursion() {
        let tree = Tree::regular(1, 100_000).unwrap();
        assert_eq!((tree.groups.len(), tree.depth(), tree.width()), (100_000, 100_000, 1));
    }

    #[test]
    fn a_name_that_continues_another_does_not_come_between_parent_and_child() {
        let paths = ["/a", "/a-b", "/a/c", "/a-b/c"];
        let tree = Tree::from_paths(
            paths.iter().map(|p| (p.as_bytes().to_vec(), Limits::default())).collect(),
        );
        let parents: Vec<_> = tree.unwrap().groups.iter().map(|g| g.parent).collect();
        assert_eq!(parents, [0, 1, 0, 3]);
    }
}
