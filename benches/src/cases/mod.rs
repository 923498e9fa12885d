//! What is measured. One file a group; a group is scenes (what is done) times peers (who does it).
//!
//! In every group one peer is there under two names in one scene: the null pair. What the
//! two differ by is what a difference must exceed to mean anything.

mod add;
mod allocate;
mod anchor;
mod counter;
mod current_cpu;
mod floors;
mod histogram;
pub mod named;
mod neighbours;
mod peers;
mod pool;
mod pools;
mod priority;
mod raw;
mod reclaim;
mod refcount;
mod ring;
mod rwlock;
mod sections;
mod sum;
mod vectors;
mod walk;

pub use anchor::anchor_text;

use crate::Case;

/// The groups, in the order they are measured in.
pub const GROUPS: [&str; 14] = [
    "current_cpu",
    "add",
    "sections",
    "allocate",
    "walk",
    "sum",
    "counter",
    "priority",
    "histogram",
    "pool",
    "ring",
    "refcount",
    "reclaim",
    "rwlock",
];

/// A group's cases, none of them prepared yet.
#[derive(Debug)]
pub struct Group {
    /// The peer that the others are compared with.
    pub baseline: &'static str,
    /// Scene by scene.
    pub list: Vec<Case>,
    /// What the group is to reach.
    pub goals: Vec<Goal>,
}

/// One case takes at most so many times what another one takes.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Scene and peer.
    pub own: (String, &'static str),
    /// Scene and peer that it is compared with.
    pub than: (String, &'static str),
    /// The largest ratio that meets the goal.
    pub most: f64,
}

/// A group by name.
pub fn group(name: &str) -> Option<Group> {
    let (baseline, list) = match name {
        "current_cpu" => (current_cpu::BASELINE, current_cpu::cases()),
        "add" => (add::BASELINE, add::cases()),
        "sections" => (sections::BASELINE, sections::cases()),
        "allocate" => (allocate::BASELINE, allocate::cases()),
        "walk" => (walk::BASELINE, walk::cases()),
        "sum" => (sum::BASELINE, sum::cases()),
        "counter" => (counter::BASELINE, counter::cases()),
        "priority" => (priority::BASELINE, priority::cases()),
        "histogram" => (histogram::BASELINE, histogram::cases()),
        "pool" => (pool::BASELINE, pool::cases()),
        "ring" => (ring::BASELINE, ring::cases()),
        "refcount" => (refcount::BASELINE, refcount::cases()),
        "reclaim" => (reclaim::BASELINE, reclaim::cases()),
        "rwlock" => (rwlock::BASELINE, rwlock::cases()),
        _ => return None,
    };
    let goals = match name {
        "sections" => sections::goals(),
        "counter" => counter::goals(),
        "priority" => priority::goals(),
        "pool" => pool::goals(),
        "ring" => ring::goals(),
        "refcount" => refcount::goals(),
        "rwlock" => rwlock::goals(),
        _ => Vec::new(),
    };
    Some(Group { baseline, list, goals })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_scene_has_its_baseline_and_no_case_is_there_twice() {
        for name in GROUPS {
            let group = group(name).unwrap();
            let mut seen = BTreeSet::new();
            let mut with_baseline = BTreeSet::new();
            for case in &group.list {
                assert!(seen.insert((case.scene(), case.peer())), "{name}: {case:?} twice");
                if case.peer() == group.baseline {
                    with_baseline.insert(case.scene());
                }
            }
            assert!(seen.iter().all(|(scene, _)| with_baseline.contains(scene)), "{name}");
            assert!(seen.iter().any(|(_, peer)| peer.ends_with("again")), "{name}: no null pair");
            for goal in &group.goals {
                for (scene, peer) in [&goal.own, &goal.than] {
                    assert!(seen.contains(&(scene.as_str(), *peer)), "{name}: {goal:?}");
                }
            }
        }
        assert!(group("walks").is_none());
    }
}
