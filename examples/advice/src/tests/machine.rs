//! The formula for transfers against a machine that runs the operations one after the other.

use super::{Random, problem};
use crate::cost::Cost;
use crate::place::Plan;
use crate::{By, Problem};
use std::collections::BTreeMap;

/// Who holds a line.
#[derive(Clone, Copy, Default)]
struct Held {
    /// A bit for each CPU that has a valid copy.
    valid: u32,
    /// The CPU that may write without asking.
    owner: Option<u32>,
}

/// Transfers an operation, of 20 000 runs of each (more of the frequent ones).
fn run(problem: &Problem, offsets: &[usize], random: &mut Random) -> Vec<f64> {
    let weights: Vec<u64> = problem.operations.iter().map(|o| o.weight as u64).collect();
    let total: u64 = weights.iter().sum();
    let mut lines: BTreeMap<usize, Held> = BTreeMap::new();
    let mut found = vec![(0u64, 0u64); weights.len()];
    for _ in 0..20_000 * total {
        let mut pick = random.below(total);
        let at = weights.iter().position(|&weight| {
            let is_it = pick < weight;
            pick = pick.wrapping_sub(weight);
            is_it
        });
        let at = at.expect("below the sum");
        let operation = &problem.operations[at];
        let cpus = u64::from(problem.cpus);
        let cpu = match operation.by {
            By::Owner => 0,
            By::Others => 1 + random.below(cpus - 1) as u32,
            By::All => random.below(cpus) as u32,
        };
        found[at].0 += 1;
        for touch in &operation.touches {
            let (first, size) = (offsets[touch.field], problem.fields[touch.field].size);
            for line in first / 64..=(first + size - 1) / 64 {
                let held = lines.entry(line).or_default();
                found[at].1 += u64::from(held.access(cpu, touch.written));
            }
        }
    }
    found.iter().map(|&(runs, transfers)| transfers as f64 / runs as f64).collect()
}

impl Held {
    /// Whether there is a transfer.
    fn access(&mut self, cpu: u32, written: bool) -> bool {
        let is_valid = self.valid >> cpu & 1 == 1;
        if written {
            let is_owned = self.owner == Some(cpu);
            *self = Self { valid: 1 << cpu, owner: Some(cpu) };
            return !is_owned;
        }
        if self.owner != Some(cpu) {
            self.owner = None;
        }
        self.valid |= 1 << cpu;
        !is_valid
    }
}

#[test]
fn transfers_are_those_of_a_machine_that_runs_the_operations() {
    let mut seen = 0;
    for seed in 0..40 {
        let mut random = Random(1000 + seed);
        let mut problem = problem(&mut random, 5);
        problem.cpus = [2, 8][seed as usize % 2];
        problem.operations.retain(|operation| !operation.touches.is_empty());
        let plan = Plan { align: 64, ..Plan::given(&problem) };
        let placed = plan.place(&problem);
        let cost = Cost::of(&problem, &placed);
        let machine = run(&problem, &placed.offsets, &mut random);
        for (cost, machine) in cost.operations.iter().zip(&machine) {
            let off = (cost.transfers - machine).abs();
            assert!(off < 0.02 + 0.02 * machine, "seed {seed}: {} and {machine}", cost.transfers);
            seen += usize::from(*machine > 0.1);
        }
    }
    assert!(seen > 30, "only {seen} operations had transfers");
}
