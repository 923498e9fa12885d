//! The ideal that service is compared with: every CPU divided continuously.
//!
//! On each CPU a runnable task is due its weight's fraction of its group, times that group's
//! fraction of the group above, and so on. It is reckoned from the tree and the runnable tasks
//! alone, in floating point, and shares nothing with either pick.

use super::record::Record;
use crate::pick::policy::{self, Situation};
use crate::pick::world::World;

/// The parts of all tasks.
#[derive(Clone, Debug, Default)]
pub struct Due {
    since: u64,
    parts: Vec<(u32, f64)>,
}

impl Due {
    /// Adds what was due since the last call to the accounts, then reckons the parts anew.
    /// `present` are the runnable tasks of each CPU.
    pub fn settle(&mut self, now: u64, record: &mut Record, world: &World, present: &[Vec<u32>]) {
        let time = (now - self.since) as f64;
        for &(task, part) in &self.parts {
            record.of_mut(task).due += part * time;
        }
        self.since = now;
        self.parts = parts(world, present);
    }
}

/// The part of its CPU that is due to each runnable task.
pub fn parts(world: &World, present: &[Vec<u32>]) -> Vec<(u32, f64)> {
    let groups = &world.groups;
    let mut loads = vec![vec![0_u64; groups.len()]; present.len()];
    let mut weights = loads.clone();
    let mut runnable = vec![0_u64; groups.len()];
    for (loads, tasks) in loads.iter_mut().zip(present) {
        for &task in tasks {
            let task = world.task(task);
            loads[task.group as usize] += task.weight;
            groups.upward(task.group).for_each(|group| runnable[group as usize] += 1);
        }
    }
    // A group's number is above its parent's.
    for group in (1..groups.len()).rev() {
        let of = groups.of(group as u32);
        let total = loads.iter().map(|loads| loads[group]).sum();
        for (loads, weights) in loads.iter_mut().zip(&mut weights) {
            let load = loads[group];
            if load > 0 {
                let (shares, cpus, runnable) = (of.shares, present.len() as u64, runnable[group]);
                let at = Situation { shares, load, total, cpus, runnable };
                weights[group] = policy::weight(groups.mode(), at);
                loads[of.parent as usize] += weights[group];
            }
        }
    }
    let part = |cpu: usize, task: u32| {
        let of = world.task(task);
        let mut part = of.weight as f64 / loads[cpu][of.group as usize] as f64;
        for group in groups.upward(of.group) {
            let above = groups.of(group).parent as usize;
            part *= weights[cpu][group as usize] as f64 / loads[cpu][above] as f64;
        }
        (task, part)
    };
    let of_cpu = |(cpu, tasks): (usize, &Vec<u32>)| {
        tasks.iter().map(move |&task| (cpu, task)).collect::<Vec<_>>()
    };
    let all = present.iter().enumerate().flat_map(of_cpu);
    all.map(|(cpu, task)| part(cpu, task)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pick::entity::NICE_0;
    use crate::pick::policy::CgroupMode;
    use crate::pick::world::{Groups, ROOT};

    #[test]
    fn a_part_is_the_product_of_the_fractions_above() {
        let mut groups = Groups::new(CgroupMode::Up, 1);
        let half = groups.add(ROOT, NICE_0);
        let inner = groups.add(half, 3 * NICE_0);
        let mut world = World::new(groups);
        let at = [(ROOT, NICE_0), (half, NICE_0), (inner, NICE_0), (inner, 2 * NICE_0)];
        let tasks = at.map(|(group, weight)| world.add_task(group, weight, None));
        let parts: Vec<f64> =
            parts(&world, &[tasks.to_vec()]).iter().map(|&(_, part)| part).collect();
        for (part, right) in parts.iter().zip([0.5, 0.125, 0.125, 0.25]) {
            assert!((part - right).abs() < 1e-12, "{parts:?}");
        }
    }
}
