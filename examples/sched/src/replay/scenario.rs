//! [`Scenario`]: who has tasks where, who has a quota, and how that changes; the same for all
//! layouts.

use super::params::Rules;
use crate::rng::Rng;
use crate::tree::Tree;

/// Which groups have a quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quotas {
    /// The leaves only, as in the kernel's benchmark: every walk of throttling visits one group.
    Leaves,
    /// The groups below the root only: walks visit their subtrees.
    Inner,
    /// Both: throttled below throttled.
    Both,
}

impl Quotas {
    /// The words in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leaves => "leaves",
            Self::Inner => "children of the root",
            Self::Both => "leaves and children of the root",
        }
    }
}

/// The tasks of all leaves and the quotas, period by period.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What a period is made of.
    pub(super) rules: Rules,
    /// CPUs that take part: their indices.
    pub(super) cpus: Vec<u32>,
    /// Groups with a quota, and nanoseconds of it, kind by kind.
    pub(super) quotas: Vec<(Vec<u32>, i64)>,
    /// Nanoseconds of a period.
    pub(super) period: u64,
    /// Of each CPU the leaves that have a task there, by its place in `cpus`.
    pub(super) tasks: Vec<Vec<u32>>,
    groups: u32,
    rng: Rng,
}

impl Scenario {
    /// Every leaf of `tree` has tasks on `on` of `cpus`.
    ///
    /// # Panics
    ///
    /// If there is no CPU, or fewer than `on`.
    pub fn new(tree: &Tree, rules: Rules, cpus: Vec<u32>, on: u32, quotas: Quotas) -> Self {
        let groups = tree.groups.len() as u32;
        let mut is_leaf = vec![true; tree.groups.len() + 1];
        tree.groups.iter().for_each(|group| is_leaf[group.parent] = false);
        let leaves: Vec<u32> = (1..=groups).filter(|&group| is_leaf[group as usize]).collect();
        let below_root: Vec<u32> =
            (1..=groups).filter(|&group| tree.groups[group as usize - 1].parent == 0).collect();
        let kinds = match quotas {
            Quotas::Leaves => vec![leaves.clone()],
            Quotas::Inner => vec![below_root],
            Quotas::Both if below_root == leaves => vec![leaves.clone()],
            Quotas::Both => {
                let inner = below_root.into_iter().filter(|&group| !is_leaf[group as usize]);
                vec![leaves.clone(), inner.collect()]
            }
        };
        // All kinds share the longest period, so that all are refilled together.
        let count = cpus.len() as u32;
        let periods = kinds.iter().map(|groups| rules.quota(count, groups.len().max(1)).0);
        let period = periods.max().unwrap_or(rules.period);
        let quota = |groups: &Vec<u32>| {
            let all = period * 1000 * u64::from(count) * rules.share / 100;
            (all / groups.len().max(1) as u64) as i64
        };
        let quotas = kinds.into_iter().map(|groups| (groups.clone(), quota(&groups))).collect();
        let mut rng = Rng::new(rules.seed);
        let mut tasks = vec![Vec::new(); cpus.len()];
        let mut places: Vec<usize> = (0..cpus.len()).collect();
        for leaf in leaves {
            // The first so many of a random order are a random choice.
            for at in 0..on as usize {
                let other = at + rng.below(places.len() - at);
                places.swap(at, other);
                tasks[places[at]].push(leaf);
            }
        }
        Self { rules, cpus, quotas, period: period * 1000, tasks, groups, rng }
    }

    /// Microseconds of a period.
    pub fn period(&self) -> u64 {
        self.period / 1000
    }

    /// Between two periods some tasks change their CPU for one where their leaf has none. Which
    /// ones leave, and which ones come, by place: leaf and place.
    pub(super) fn next(&mut self) -> Vec<(u32, usize)> {
        let count: usize = self.tasks.iter().map(Vec::len).sum();
        let mut came = Vec::new();
        for _ in 0..count * self.rules.moves / 100 {
            let from = self.rng.below(self.tasks.len());
            let to = self.rng.below(self.tasks.len());
            if self.tasks[from].is_empty() {
                continue;
            }
            let at = self.rng.below(self.tasks[from].len());
            let leaf = self.tasks[from][at];
            if self.tasks[to].contains(&leaf) {
                continue;
            }
            self.tasks[from].swap_remove(at);
            self.tasks[to].push(leaf);
            came.push((leaf, to));
        }
        came
    }

    /// The group that gets other shares in a period, and the place of the CPU that sees to it; in the
    /// next one another group and CPU.
    pub(super) fn shares(&self, period: u32) -> (u32, usize) {
        (1 + period * 37 % self.groups, period as usize % self.cpus.len())
    }

    /// The place of the CPU that goes offline in a period.
    pub(super) fn offline(&self, period: u32) -> usize {
        (period as usize * 7 + 1) % self.cpus.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(cpus: u32, on: u32, quotas: Quotas) -> Scenario {
        let tree = Tree::regular(4, 3).unwrap();
        Scenario::new(&tree, Rules::fixed(), (0..cpus).collect(), on, quotas)
    }

    #[test]
    fn every_leaf_has_its_tasks_on_different_cpus_before_and_after_moves() {
        let mut scenario = scenario(8, 3, Quotas::Leaves);
        let mut moved = 0;
        for _ in 0..50 {
            let mut on = vec![0; 85];
            for tasks in &scenario.tasks {
                let mut of_cpu = tasks.clone();
                of_cpu.sort_unstable();
                of_cpu.dedup();
                assert_eq!(of_cpu.len(), tasks.len(), "a leaf twice on a CPU");
                tasks.iter().for_each(|&leaf| on[leaf as usize] += 1);
            }
            assert_eq!(on.iter().filter(|&&on| on == 3).count(), 64);
            assert_eq!(on.iter().filter(|&&on| on == 0).count(), 21);
            moved += scenario.next().len();
        }
        // At most 5 % of 192 in each of 50 periods.
        assert!((200..=450).contains(&moved), "{moved}");
    }

    #[test]
    fn the_quotas_of_a_kind_are_four_fifths_of_the_machine() {
        for (quotas, expected) in [
            (Quotas::Leaves, vec![(64, 1_000_000)]),
            (Quotas::Inner, vec![(4, 16_000_000)]),
            (Quotas::Both, vec![(64, 1_000_000), (4, 16_000_000)]),
        ] {
            let scenario = scenario(8, 3, quotas);
            let period = scenario.period() as i64 * 1000;
            let found: Vec<(usize, i64)> =
                scenario.quotas.iter().map(|(groups, quota)| (groups.len(), *quota)).collect();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.0, expected.0);
                assert_eq!(found.1, period * 8 * 80 / 100 / found.0 as i64);
                assert!(found.1 >= 1_000_000, "{found:?}, {expected:?}");
            }
        }
    }
}
