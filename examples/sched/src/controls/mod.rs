//! Controls: what co-locating the state must not make slower, where there are no deep groups.
//!
//! | file | what it is |
//! |---|---|
//! | `queues` | the hot paths of one CPU's queues, in a layout |
//! | `work` | the three workloads: what programs do between those |
//! | `print`, `args` | what is printed and asked |
//!
//! Each control is work in the manner of a known benchmark, done by one thread that calls the
//! model's enqueue, dequeue, switch and tick where the kernel would run for it, in a tree one level
//! deep. The same steps are timed with the state in L0 and in L2, in turns and in a fresh order
//! each time; L0 takes part a second time as the null pair, which differs by nothing but the
//! harness's error. The work alone stands beside them, to see how much of a step the model is.
//!
//! It is no copy of the benchmarks: nothing sleeps, there is one thread, and a message goes through
//! memory instead of a pipe.

pub mod args;
mod print;
mod queues;
mod work;

pub use print::print;
pub use work::{Control, Queues, Work};

use crate::layout::{L0, L2, Layout, Order};
use crate::measure::machine::{Machine, pin, preemptions};
use crate::measure::stats::{Estimate, coverage, estimate, median, rank};
use crate::model::Model;
use crate::rng::Rng;
use crate::structs::v7_2::V7_2;
use crate::tree::Tree;
use corelocal::{Area, CpuId};
use queues::{InLayout, Nothing};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Groups below the root, each with as many tasks as the others.
pub const GROUPS: u64 = 8;
/// Tasks.
pub const TASKS: usize = 32;
/// CPUs of the memory layout, if the machine has no more.
pub const LANES: u32 = 64;
/// What is measured, in the order of the rows.
pub const SUBJECTS: [&str; 4] = ["work alone", "L0", "L2", "L0-null"];

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Config {
    /// Independent repetitions; each builds everything anew.
    pub rounds: u32,
    /// Samples of each subject in a round, whose median is the round's value.
    pub samples: u32,
    /// Milliseconds that a sample should take.
    pub sample_ms: u64,
    /// How long samples may be repeated because the thread was switched out, in all.
    pub patience: Duration,
    /// Where every shuffle starts.
    pub seed: u64,
}

/// One subject's figures in one control.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// One of [`SUBJECTS`].
    pub subject: &'static str,
    /// Nanoseconds a step.
    pub ns: Estimate,
    /// `subject / L0 - 1`, pair by pair within a round.
    pub change: Estimate,
    /// Whether its interval of nanoseconds and L0's have a value in common.
    pub overlap: bool,
}

/// A control's figures.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Table {
    /// Its name.
    pub control: &'static str,
    /// What one step is.
    pub step: &'static str,
    /// By [`SUBJECTS`].
    pub rows: Vec<Row>,
}

/// What came out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Results {
    /// How it was measured.
    pub config: Config,
    /// Percent of confidence of the intervals.
    pub confidence: f64,
    /// The controls.
    pub tables: Vec<Table>,
    /// Samples that were thrown away because the thread was switched out.
    pub rejected: u32,
    /// Samples that were kept all the same.
    pub disturbed: u32,
}

/// Whether two intervals have a value in common.
pub fn overlap(a: &Estimate, b: &Estimate) -> bool {
    a.lo <= b.hi && b.lo <= a.hi
}

/// Measures every control, telling `progress` what is being done.
///
/// # Errors
///
/// What the system refused, as text.
///
/// # Panics
///
/// If there are no rounds or no samples.
pub fn measure(
    config: &Config,
    machine: &Machine,
    mut progress: impl FnMut(&str),
) -> Result<Results, String> {
    let lanes = machine.cpus.max(LANES);
    let tree = Tree::regular(GROUPS, 1).map_err(|error| error.to_string())?;
    let mut run = Run::new(config);
    for round in 0..config.rounds {
        progress(&format!("controls: round {} of {}", round + 1, config.rounds));
        let allowed = &machine.allowed;
        let cpu =
            CpuId::new(allowed.get(round as usize % allowed.len().max(1)).copied().unwrap_or(0));
        pin(cpu)?;
        let area = Area::builder().cpus(lanes).build().map_err(|error| error.to_string())?;
        let order = Order::Shuffled(config.seed.wrapping_add(round.into()));
        let (l0, l2) = (
            build::<L0<V7_2>>(&tree, lanes, order, &area)?,
            build::<L2<V7_2>>(&tree, lanes, order, &area)?,
        );
        let (l0, l2) = (InLayout::new(&l0, cpu), InLayout::new(&l2, cpu));
        run.round([&Nothing, &l0, &l2, &l0]);
    }
    Ok(run.results())
}

fn build<L: Layout>(
    tree: &Tree,
    lanes: u32,
    order: Order,
    area: &Area,
) -> Result<Model<L>, String> {
    Model::build_idle(tree, lanes, order, area, 0)
        .map_err(|error| format!("building {}: {error}", L::NAME))
}

/// A measurement while it runs.
struct Run<'a> {
    config: &'a Config,
    rng: Rng,
    work: Work,
    patience: Duration,
    /// Steps of a sample of each control.
    steps: [u32; Control::ALL.len()],
    /// Each round's nanoseconds a step, by control and subject.
    found: [[Vec<f64>; SUBJECTS.len()]; Control::ALL.len()],
    rejected: u32,
    disturbed: u32,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config) -> Self {
        let mut work = Work::new(config.seed);
        let steps = Control::ALL.map(|control| {
            // Without the model, so a sample with it is somewhat longer.
            let start = Instant::now();
            control.run(&Nothing, &mut work, 256);
            let one = start.elapsed().as_nanos() / 256 + 1;
            u32::try_from(u128::from(config.sample_ms) * 1_000_000 / one).unwrap_or(u32::MAX).max(1)
        });
        Self {
            config,
            rng: Rng::new(config.seed),
            work,
            patience: config.patience,
            steps,
            found: Default::default(),
            rejected: 0,
            disturbed: 0,
        }
    }

    fn round(&mut self, subjects: [&dyn Queues; SUBJECTS.len()]) {
        for (at, control) in Control::ALL.into_iter().enumerate() {
            let mut samples: [Vec<f64>; SUBJECTS.len()] = Default::default();
            for subject in subjects {
                control.run(subject, &mut self.work, self.steps[at].div_ceil(4));
            }
            let mut turn: Vec<usize> = (0..subjects.len()).collect();
            for _ in 0..self.config.samples {
                self.rng.shuffle(&mut turn);
                for &subject in &turn {
                    let ns = self.sample(control, subjects[subject], self.steps[at]);
                    samples[subject].push(ns);
                }
            }
            for (found, samples) in self.found[at].iter_mut().zip(&samples) {
                found.push(median(samples));
            }
        }
    }

    fn sample(&mut self, control: Control, subject: &dyn Queues, steps: u32) -> f64 {
        loop {
            let before = preemptions();
            let start = Instant::now();
            control.run(subject, &mut self.work, steps);
            let took = start.elapsed();
            let disturbed = preemptions() != before;
            if disturbed && !self.patience.is_zero() {
                self.patience = self.patience.saturating_sub(took);
                self.rejected += 1;
                continue;
            }
            self.disturbed += u32::from(disturbed);
            return took.as_secs_f64() * 1e9 / f64::from(steps);
        }
    }

    fn results(self) -> Results {
        let tables = Control::ALL.into_iter().zip(&self.found);
        let tables = tables.map(|(control, found)| table(control, found)).collect();
        let rounds = self.config.rounds as usize;
        Results {
            config: *self.config,
            confidence: 100.0 * coverage(rounds, rank(rounds)),
            tables,
            rejected: self.rejected,
            disturbed: self.disturbed,
        }
    }
}

fn table(control: Control, found: &[Vec<f64>; SUBJECTS.len()]) -> Table {
    let base = &found[1];
    let row = |(subject, values): (&'static str, &Vec<f64>)| {
        let changes: Vec<f64> = values.iter().zip(base).map(|(ns, base)| ns / base - 1.0).collect();
        let ns = estimate(values);
        Row { subject, ns, change: estimate(&changes), overlap: overlap(&ns, &estimate(base)) }
    };
    let rows = SUBJECTS.into_iter().zip(found).map(row).collect();
    Table { control: control.name(), step: control.step(), rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(ns: f64) -> Vec<f64> {
        (0..10).map(|round| ns + f64::from(round) / 10.0).collect()
    }

    #[test]
    fn a_slower_layout_does_not_overlap() {
        let found = [steady(1.0), steady(100.0), steady(102.0), steady(100.5)];
        let table = table(Control::Spinners, &found);
        let verdicts: Vec<bool> = table.rows.iter().map(|row| row.overlap).collect();
        assert_eq!(verdicts, [false, true, false, true]);
        assert!((table.rows[2].change.median - 0.02).abs() < 1e-3);
    }

    #[test]
    fn intervals_that_touch_overlap() {
        let at = |lo, hi| Estimate { median: lo, lo, hi };
        assert!(overlap(&at(1.0, 2.0), &at(2.0, 3.0)) && overlap(&at(2.0, 3.0), &at(1.0, 2.0)));
        assert!(overlap(&at(1.0, 9.0), &at(2.0, 3.0)));
        assert!(!overlap(&at(1.0, 2.0), &at(2.1, 3.0)) && !overlap(&at(2.1, 3.0), &at(1.0, 2.0)));
    }
}
