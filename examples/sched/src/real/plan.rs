//! The tree that is made twice.

use crate::tree::{Group, Limits, Tree};

/// A group of the plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its directory's name.
    pub name: &'static str,
    /// The parent: 0 is the root of all, `n` is `groups[n - 1]`.
    pub parent: usize,
    /// The weight, as in `cpu.shares`.
    pub shares: u64,
    /// Microseconds in each period.
    pub quota: Option<u64>,
    /// Microseconds.
    pub period: u64,
    /// The CPUs on which it has a busy loop, by their place among the plan's.
    pub loops: Vec<usize>,
}

/// Groups and busy loops.
#[derive(Clone, Debug)]
pub struct Plan {
    /// A parent before its children.
    pub groups: Vec<Planned>,
    /// How many CPUs it is for.
    pub cpus: usize,
}

/// The most that `cpu.shares` takes, for a topmost group beside which all other programs are hardly
/// noticed.
pub const TOP_SHARES: u64 = 262_144;

impl Plan {
    /// Three levels, six groups, quotas inside and at leaves, on one CPU or two; `shares` is the
    /// topmost group's weight.
    pub fn small(cpus: usize, shares: u64) -> Self {
        let all: Vec<usize> = (0..cpus).collect();
        let scale = cpus as u64;
        let group = |name, parent, shares, quota, period| Planned {
            name,
            parent,
            shares,
            quota,
            period,
            loops: Vec::new(),
        };
        let mut groups = vec![
            group("top", 0, shares, None, 100_000),
            group("a", 1, 1024, None, 100_000),
            // A leaf's quota, for all of its CPUs.
            group("a1", 2, 1024, Some(15_000 * scale), 100_000),
            // The rest of the machine, against b.
            group("a2", 2, 512, None, 100_000),
            // An inner group's quota and a shorter period.
            group("b", 1, 2048, Some(20_000 * scale), 50_000),
            group("b1", 5, 1024, None, 100_000),
        ];
        for leaf in [2, 3, 5] {
            groups[leaf].loops.clone_from(&all);
        }
        Self { groups, cpus }
    }

    /// The part of the CPUs that the loops would take if they were alone.
    pub fn demand(&self) -> f64 {
        let is_unlimited = |mut at: usize| loop {
            match at {
                0 => return true,
                _ if self.groups[at - 1].quota.is_some() => return false,
                _ => at = self.groups[at - 1].parent,
            }
        };
        let mut busy = vec![false; self.cpus];
        for (index, group) in self.groups.iter().enumerate() {
            for &cpu in &group.loops {
                busy[cpu] |= is_unlimited(index + 1);
            }
        }
        busy.iter().filter(|&&is| is).count() as f64 / self.cpus as f64
    }

    /// The same for the model.
    pub fn tree(&self) -> Tree {
        let group = |group: &Planned| Group {
            path: group.name.as_bytes().to_vec(),
            parent: group.parent,
            limits: Limits { shares: group.shares, quota: group.quota, period: group.period },
        };
        Tree { groups: self.groups.iter().map(group).collect() }
    }

    /// The names from the topmost group to this one.
    pub fn path(&self, index: usize) -> String {
        let group = &self.groups[index];
        match group.parent {
            0 => group.name.to_owned(),
            above => format!("{}/{}", self.path(above - 1), group.name),
        }
    }

    /// Whether a group is another or below it.
    pub fn is_below(&self, mut index: usize, above: usize) -> bool {
        loop {
            match (index == above, self.groups[index].parent) {
                (true, _) => return true,
                (false, 0) => return false,
                (false, parent) => index = parent - 1,
            }
        }
    }
}
