//! What an operation costs here, by depth, width and number of tasks.
//!
//! The subjects take turns, in a freshly shuffled order in every round, and each round builds them
//! anew; a subject is several CPUs alike, so that the clock is read once for many operations.
//! Delayed dequeue is off: a dequeue that leaves its task queued would be no dequeue.

use super::fit::fit;
use crate::measure::machine::preemptions;
use crate::measure::stats::{Estimate, estimate, median};
use crate::pick::entity::{NICE_0, SLICE, TICK};
use crate::pick::policy::CgroupMode;
use crate::pick::{Features, Flat, Groups, Hierarchical, Picker, ROOT, World};
use crate::rng::Rng;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// CPUs alike of which a subject is made.
const COPIES: usize = 16;
/// Samples that may be thrown away a subject and round because the thread was switched out.
const PATIENCE: u32 = 50;
/// Samples at the start of a subject that are not counted.
const WARM_UP: usize = 5;

/// What is timed.
pub const OPERATIONS: [&str; 4] = ["enqueue", "pick", "dequeue", "tick"];
/// Their sum.
pub const ALL: &str = "all four";

/// Which trees and how often.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Levels of groups above the tasks.
    pub depths: Vec<u32>,
    /// Groups in each group.
    pub widths: Vec<u32>,
    /// Tasks, dealt to the lowest groups so that they part as far up as they can.
    pub tasks: Vec<u32>,
    /// Independent repetitions.
    pub rounds: u32,
    /// Samples of a subject in a round.
    pub samples: u32,
    /// Where the shuffles start.
    pub seed: u64,
}

/// One operation by depth.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Groups in each group.
    pub width: u32,
    /// Tasks.
    pub tasks: u32,
    /// One of [`OPERATIONS`], or [`ALL`].
    pub operation: &'static str,
    /// The hierarchical pick's nanoseconds by depth, and fitted.
    pub hierarchical: ByDepth,
    /// The flat pick's.
    pub flat: ByDepth,
    /// `flat / hierarchical - 1` by depth, pair by pair within a round.
    pub change: Vec<Estimate>,
}

/// Nanoseconds by depth, and `a + b * depth` through them: the parameters of each round's medians,
/// estimated over the rounds.
#[derive(Clone, Debug, Serialize)]
pub struct ByDepth {
    /// In the order of the plan's depths.
    pub ns: Vec<Estimate>,
    /// What depth does not change.
    pub a: Estimate,
    /// What each level adds.
    pub b: Estimate,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    /// What for.
    pub plan: Plan,
    /// All figures.
    pub rows: Vec<Row>,
    /// Samples that were thrown away.
    pub rejected: u32,
    /// Samples that were kept though the thread was switched out.
    pub disturbed: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Case {
    width: u32,
    tasks: u32,
    depth: u32,
    flat: bool,
}

/// Nanoseconds of each operation.
type Sample = [f64; OPERATIONS.len()];

/// Measures.
pub fn measure(plan: &Plan, mut progress: impl FnMut(&str)) -> Costs {
    let mut cases = Vec::new();
    for &width in &plan.widths {
        for &tasks in &plan.tasks {
            for &depth in &plan.depths {
                cases.extend([false, true].map(|flat| Case { width, tasks, depth, flat }));
            }
        }
    }
    let mut rng = Rng::new(plan.seed);
    let mut found: BTreeMap<Case, Vec<Sample>> = BTreeMap::new();
    let mut costs = Costs { plan: plan.clone(), rows: Vec::new(), rejected: 0, disturbed: 0 };
    for round in 1..=plan.rounds {
        progress(&format!("operations: round {round} of {}", plan.rounds));
        let mut order = cases.clone();
        rng.shuffle(&mut order);
        for case in order {
            let medians = match case.flat {
                true => Subject::<Flat>::new(case).sample(plan.samples, &mut costs),
                false => Subject::<Hierarchical>::new(case).sample(plan.samples, &mut costs),
            };
            found.entry(case).or_default().push(medians);
        }
    }
    costs.rows = rows(plan, &found);
    costs
}

fn rows(plan: &Plan, found: &BTreeMap<Case, Vec<Sample>>) -> Vec<Row> {
    let mut rows = Vec::new();
    for &width in &plan.widths {
        for &tasks in &plan.tasks {
            for (at, operation) in OPERATIONS.into_iter().chain([ALL]).enumerate() {
                let value =
                    |sample: &Sample| sample.get(at).copied().unwrap_or(sample.iter().sum());
                // By depth, then by round.
                let of = |flat| -> Vec<Vec<f64>> {
                    let of_depth = |&depth| &found[&Case { width, tasks, depth, flat }];
                    let values = plan.depths.iter().map(of_depth);
                    values.map(|rounds| rounds.iter().map(value).collect()).collect()
                };
                let (hierarchical, flat) = (of(false), of(true));
                let pairs = hierarchical.iter().zip(&flat);
                let change = pairs.map(|(base, flat)| {
                    let changes = flat.iter().zip(base).map(|(flat, base)| flat / base - 1.0);
                    estimate(&changes.collect::<Vec<f64>>())
                });
                rows.push(Row {
                    width,
                    tasks,
                    operation,
                    change: change.collect(),
                    hierarchical: by_depth(&plan.depths, &hierarchical),
                    flat: by_depth(&plan.depths, &flat),
                });
            }
        }
    }
    rows
}

fn by_depth(depths: &[u32], values: &[Vec<f64>]) -> ByDepth {
    let rounds = values.first().map_or(0, Vec::len);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let points = depths.iter().zip(values);
        let points: Vec<(f64, f64)> =
            points.map(|(&depth, values)| (f64::from(depth), values[round])).collect();
        let line = fit(&points);
        a.push(line.0);
        b.push(line.1);
    }
    ByDepth {
        ns: values.iter().map(|values| estimate(values)).collect(),
        a: estimate(&a),
        b: estimate(&b),
    }
}

/// One CPU of a subject.
struct Copy<P> {
    picker: P,
    world: World,
    now: u64,
    slept: Option<u32>,
}

struct Subject<P>(Vec<Copy<P>>);

impl<P: Picker> Subject<P> {
    fn new(case: Case) -> Self {
        let copy = |_| {
            let mut world = tree(case);
            let features = Features { delay: false, ..Features::default() };
            let mut picker = P::new(world.groups.len(), features);
            for task in 0..world.tasks() as u32 {
                picker.enqueue(0, task, &mut world);
            }
            picker.pick(0, &mut world);
            Copy { picker, world, now: 0, slept: None }
        };
        Self((0..COPIES).map(copy).collect())
    }

    fn sample(&mut self, samples: u32, costs: &mut Costs) -> Sample {
        let mut kept: [Vec<f64>; OPERATIONS.len()] = Default::default();
        let mut patience = PATIENCE;
        for _ in 0..WARM_UP {
            self.cycle();
        }
        while kept[0].len() < samples as usize {
            let before = preemptions();
            let sample = self.cycle();
            if preemptions() != before {
                if patience > 0 {
                    patience -= 1;
                    costs.rejected += 1;
                    continue;
                }
                costs.disturbed += 1;
            }
            kept.iter_mut().zip(sample).for_each(|(kept, ns)| kept.push(ns));
        }
        kept.map(|kept| median(&kept))
    }

    /// The running task sleeps, another runs, it wakes, a tick comes, a slice ends.
    fn cycle(&mut self) -> Sample {
        let dequeue = self.each(TICK / 2, |copy| {
            let task = copy.picker.current().expect("somebody runs");
            copy.picker.dequeue(copy.now, task, true, &mut copy.world);
            copy.slept = Some(task);
        });
        self.each(0, |copy| {
            copy.picker.pick(copy.now, &mut copy.world);
        });
        let enqueue = self.each(TICK / 10, |copy| {
            if let Some(task) = copy.slept.take() {
                copy.picker.enqueue(copy.now, task, &mut copy.world);
            }
        });
        self.each(0, |copy| {
            copy.picker.pick(copy.now, &mut copy.world);
        });
        let tick = self.each(TICK, |copy| {
            copy.picker.tick(copy.now, &mut copy.world);
        });
        let pick = self.each(SLICE, |copy| {
            copy.picker.pick(copy.now, &mut copy.world);
        });
        [enqueue, pick, dequeue, tick]
    }

    /// Nanoseconds of `act`, `after` so much virtual time.
    fn each(&mut self, after: u64, mut act: impl FnMut(&mut Copy<P>)) -> f64 {
        self.0.iter_mut().for_each(|copy| copy.now += after);
        let start = Instant::now();
        self.0.iter_mut().for_each(&mut act);
        start.elapsed().as_secs_f64() * 1e9 / COPIES as f64
    }
}

/// A tree in which there are only groups on the way to a task. The first digit of a task's number, to
/// the base of the width, is its group below the root, the second that below this, and so on.
fn tree(case: Case) -> World {
    let mut groups = Groups::new(CgroupMode::Concur, 1);
    let mut known = BTreeMap::new();
    let mut leaves = Vec::new();
    for task in 0..case.tasks {
        let (mut rest, mut group) = (task, ROOT);
        for _ in 0..case.depth {
            let digit = rest % case.width;
            rest /= case.width;
            group = *known.entry((group, digit)).or_insert_with(|| groups.add(group, NICE_0));
        }
        leaves.push(group);
    }
    let mut world = World::new(groups);
    for leaf in leaves {
        world.add_task(leaf, NICE_0, None);
    }
    world
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_part_at_the_root_first() {
        let world = tree(Case { width: 2, tasks: 4, depth: 2, flat: true });
        let top = |task: u32| world.groups.upward(world.task(task).group).last().unwrap();
        assert_eq!([0, 1, 2, 3].map(top), [top(0), top(1), top(0), top(1)]);
        assert_ne!(top(0), top(1));
        assert_eq!(world.groups.len(), 1 + 2 + 4);
    }

    #[test]
    fn a_subject_goes_on_as_long_as_one_likes() {
        for flat in [false, true] {
            for tasks in [1, 5] {
                let case = Case { width: 2, tasks, depth: 3, flat };
                let mut subject = Subject::<Hierarchical>::new(case);
                let mut other = Subject::<Flat>::new(case);
                for _ in 0..20 {
                    assert!(subject.cycle().iter().chain(&other.cycle()).all(|&ns| ns >= 0.0));
                }
            }
        }
    }
}
