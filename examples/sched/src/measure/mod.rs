//! The harness: which trees are built, what is timed in which order, and what comes out.
//!
//! Each run builds every layout anew, so that the interval over the runs also covers how lucky a
//! layout was with its pages. Within a run the layouts take turns, in a freshly shuffled order in
//! every round, on one thread that is pinned to one CPU after the other.
//!
//! The null pair is one copy of L0 under two names. Two copies would differ in their pages, which
//! is a fact about memory and is in the intervals already; the same copy differs by nothing but
//! what the harness does, so a difference that it shows is the harness's error.

pub mod machine;
mod sample;
pub mod stats;

pub use sample::{Cache, Task};

use crate::layout::{L0, L1b, L2, L3, L3x, Layout, Order, StartsWith};
use crate::model::Model;
use crate::rng::Rng;
use crate::structs::{Kernel, v6_14::V6_14, v7_2::V7_2};
use crate::tree::Tree;
use corelocal::{Area, CpuId};
use machine::Machine;
use sample::{Patience, Sample, Subject, Sweep, sample};
use stats::{Estimate, estimate, median};
use std::time::Duration;

/// The name of the second copy of L0's results.
pub const NULL: &str = "L0-null";
/// A level 2 cache where the system does not tell its size.
const ASSUMED_L2: u64 = 2 << 20;
/// CPUs that one run uses; the next run uses the next ones.
const CPUS_A_RUN: usize = 4;

/// Whose structures are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Kernels {
    /// Linux 6.14.
    #[value(name = "6.14")]
    V6_14,
    /// Linux 7.2.
    #[value(name = "7.2")]
    V7_2,
    /// Both.
    Both,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whose structures.
    pub kernels: Kernels,
    /// CPUs of the memory layout, one table for each.
    pub lanes: Vec<u32>,
    /// Independent repetitions.
    pub runs: u32,
    /// Samples of each walk on each CPU in a run, whose median is the run's value.
    pub samples: u32,
    /// How long samples may be repeated because the thread was switched out, in all; from then on
    /// such samples are left out, unless a run has no other.
    pub patience: Duration,
    /// Where every shuffle starts.
    pub seed: u64,
    /// How per-CPU memory is laid out.
    pub memory: Memory,
}

/// How per-CPU memory is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// On huge pages, where the system has any.
    pub huge_pages: bool,
    /// With an odd number of lines from one object to the next.
    pub odd_lines: bool,
}

impl Memory {
    /// An area for so many CPUs.
    ///
    /// # Errors
    ///
    /// What is wrong with the number, as text.
    pub fn area(self, cpus: u32) -> Result<Area, String> {
        let builder = Area::builder().cpus(cpus).huge_pages(self.huge_pages);
        builder.odd_lines(self.odd_lines).build().map_err(|error| error.to_string())
    }
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// All figures, table by table.
    pub rows: Vec<Row>,
    /// The null pair over all walks of one table: a run's value is the median of its changes.
    pub nulls: Vec<Estimate>,
}

/// One layout's figures for one walk.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name, or [`NULL`].
    pub layout: &'static str,
    /// The kernel whose structures were walked.
    pub structs: &'static str,
    /// CPUs of the memory layout.
    pub lanes: u32,
    /// In which order objects were allocated.
    pub order: &'static str,
    /// What was timed.
    pub task: Task,
    /// Nanoseconds a visit.
    pub ns: Estimate,
    /// `layout / L0 - 1`, pair by pair within a run.
    pub change: Estimate,
    /// For L3 and L3x `L3 / L2 - 1`, pair by pair within a run.
    pub to_l2: Option<Estimate>,
    /// Bytes asked for: state and references of all groups.
    pub bytes: u64,
    /// Samples that were thrown away.
    pub rejected: u32,
    /// Samples that were kept though the thread was switched out.
    pub disturbed: u32,
}

/// Measures everything, telling `progress` what is being done.
///
/// # Errors
///
/// What the system refused, as text.
pub fn measure(
    config: &Config,
    machine: &Machine,
    tree: &Tree,
    mut progress: impl FnMut(&str),
) -> Result<Results, String> {
    let mut results = Results::default();
    let sweep = Sweep::new(machine.l2.unwrap_or(ASSUMED_L2));
    let mut patience = Patience::new(config.patience);
    for &lanes in &config.lanes {
        for shuffled in [false, true] {
            let patience = &mut patience;
            let mut setting =
                Setting { config, machine, tree, lanes, shuffled, sweep: &sweep, patience };
            if config.kernels != Kernels::V6_14 {
                setting.measure::<V7_2>(&mut results, false, &mut progress)?;
            }
            if config.kernels != Kernels::V7_2 {
                // The RFC orders the fields of these structures, so L3 stands beside them.
                setting.measure::<V6_14>(&mut results, true, &mut progress)?;
            }
        }
    }
    Ok(results)
}

/// What one table is about.
struct Setting<'a> {
    config: &'a Config,
    machine: &'a Machine,
    tree: &'a Tree,
    lanes: u32,
    shuffled: bool,
    sweep: &'a Sweep,
    patience: &'a mut Patience,
}

/// The samples of one layout for one walk.
#[derive(Clone, Debug, Default)]
struct Series {
    /// One value a run.
    ns: Vec<f64>,
    rejected: u32,
    disturbed: u32,
}

impl Series {
    /// Takes the median of a run's undisturbed samples; of all, where there is no other.
    fn take_run(&mut self, samples: &[Sample]) {
        let disturbed = samples.iter().filter(|sample| sample.disturbed).count();
        let all = disturbed == samples.len();
        let kept = samples.iter().filter(|sample| all || !sample.disturbed);
        let kept: Vec<f64> = kept.map(|sample| sample.ns).collect();
        self.ns.push(median(&kept));
        *(if all { &mut self.disturbed } else { &mut self.rejected }) += disturbed as u32;
    }
}

impl Setting<'_> {
    fn measure<K: Kernel>(
        &mut self,
        results: &mut Results,
        with_l3: bool,
        progress: &mut impl FnMut(&str),
    ) -> Result<(), String>
    where
        K::State: StartsWith<K::CfsRq>,
        K::CfsRq: StartsWith<K::CfsRq>,
    {
        let tasks = Task::all();
        let mut layouts = Vec::new();
        let mut series: Vec<Vec<Series>> = vec![Vec::new(); tasks.len()];
        for run in 0..self.config.runs {
            progress(&format!(
                "structures of {}, {} lanes, {} order: run {} of {}",
                K::NAME,
                self.lanes,
                self.order(run).name(),
                run + 1,
                self.config.runs
            ));
            let area = self.area()?;
            let l0 = self.build::<L0<K>>(run, &area)?;
            let l1b = self.build::<L1b<K>>(run, &area)?;
            let l2 = self.build::<L2<K>>(run, &area)?;
            let l3 = if with_l3 { Some(self.build::<L3>(run, &area)?) } else { None };
            let l3x = if with_l3 { Some(self.build::<L3x>(run, &area)?) } else { None };
            let mut subjects: Vec<&dyn Subject> = vec![&l0, &l1b, &l2];
            subjects.extend(l3.as_ref().map(|l3| -> &dyn Subject { l3 }));
            subjects.extend(l3x.as_ref().map(|l3x| -> &dyn Subject { l3x }));
            layouts = subjects.iter().map(|subject| subject.name()).collect();
            subjects.push(&l0);
            layouts.push(NULL);
            self.run(run, &tasks, &subjects, &mut series)?;
        }
        results.rows.extend(self.rows::<K>(&layouts, &tasks, &series));
        results.nulls.push(self.null(&series));
        Ok(())
    }

    /// Bytes asked for by all groups in a layout.
    fn bytes<K: Kernel>(&self, layout: &str) -> u64
    where
        K::State: StartsWith<K::CfsRq>,
    {
        let cpus = self.lanes as usize;
        let group = match layout {
            "L1b" => L1b::<K>::group_bytes(cpus),
            // Only an odd number of lines makes objects larger than they are.
            "L2" if !self.config.memory.odd_lines => ((cpus + 1) * size_of::<K::State>()) as u64,
            "L2" => L2::<K>::group_bytes(cpus),
            "L3" => L3::group_bytes(cpus),
            "L3x" => L3x::group_bytes(cpus),
            _ => L0::<K>::group_bytes(cpus),
        };
        group * self.tree.groups.len() as u64
    }

    /// The order of allocation; a shuffled one differs from run to run.
    fn order(&self, run: u32) -> Order {
        let seed = self.config.seed.wrapping_add(u64::from(run));
        if self.shuffled { Order::Shuffled(seed) } else { Order::Allocation }
    }

    fn area(&self) -> Result<Area, String> {
        self.config.memory.area(self.lanes)
    }

    fn build<L: Layout>(&self, run: u32, area: &Area) -> Result<Model<L>, String> {
        Model::build(self.tree, self.lanes, self.order(run), area)
            .map_err(|error| format!("building {}: {error}", L::NAME))
    }

    /// The CPUs of a run: all, or a few of many, the next run taking the next ones.
    fn cpus(&self, run: u32) -> Vec<CpuId> {
        let allowed = &self.machine.allowed;
        let count = allowed.len().min(CPUS_A_RUN);
        let first = run as usize * count;
        (first..first + count).map(|at| CpuId::new(allowed[at % allowed.len()])).collect()
    }

    /// One run: every task, on every CPU, every layout in turn.
    fn run(
        &mut self,
        run: u32,
        tasks: &[Task],
        subjects: &[&dyn Subject],
        series: &mut [Vec<Series>],
    ) -> Result<(), String> {
        let mut rng = Rng::new(self.config.seed ^ u64::from(run) << 32);
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        let mut samples = vec![vec![Vec::new(); subjects.len()]; tasks.len()];
        series.iter_mut().for_each(|of_task| of_task.resize_with(subjects.len(), Series::default));
        for cpu in self.cpus(run) {
            machine::pin(cpu)?;
            rng.shuffle(&mut order);
            for &at in &order {
                for _ in 0..self.config.samples {
                    let mut turn: Vec<usize> = (0..subjects.len()).collect();
                    rng.shuffle(&mut turn);
                    for layout in turn {
                        let sample = self.sample(subjects[layout], tasks[at], cpu);
                        series[at][layout].rejected += sample.rejected;
                        samples[at][layout].push(sample);
                    }
                }
            }
        }
        for (all, of_task) in series.iter_mut().zip(&samples) {
            for (one, of_layout) in all.iter_mut().zip(of_task) {
                one.take_run(of_layout);
            }
        }
        Ok(())
    }

    /// The null pair over all walks.
    fn null(&self, series: &[Vec<Series>]) -> Estimate {
        let of_run = |run: usize| {
            let ends = series.iter().filter_map(|s| Some((s.first()?, s.last()?)));
            let changes: Vec<f64> =
                ends.map(|(l0, null)| null.ns[run] / l0.ns[run] - 1.0).collect();
            median(&changes)
        };
        let runs: Vec<f64> = (0..self.config.runs as usize).map(of_run).collect();
        estimate(&runs)
    }

    fn sample(&mut self, subject: &dyn Subject, task: Task, cpu: CpuId) -> Sample {
        sample(subject, task, cpu, self.sweep, self.patience)
    }

    fn rows<K: Kernel>(
        &self,
        layouts: &[&'static str],
        tasks: &[Task],
        series: &[Vec<Series>],
    ) -> Vec<Row>
    where
        K::State: StartsWith<K::CfsRq>,
    {
        let mut rows = Vec::new();
        for (&task, of_task) in tasks.iter().zip(series) {
            let change = |of: &Series, against: &str| {
                let against = layouts.iter().position(|layout| *layout == against)?;
                let pairs = of.ns.iter().zip(&of_task[against].ns);
                Some(estimate(&pairs.map(|(ns, base)| ns / base - 1.0).collect::<Vec<f64>>()))
            };
            for (&layout, one) in layouts.iter().zip(of_task) {
                rows.push(Row {
                    layout,
                    structs: K::NAME,
                    lanes: self.lanes,
                    order: self.order(0).name(),
                    task,
                    ns: estimate(&one.ns),
                    change: change(one, "L0").expect("L0 is measured"),
                    to_l2: if layout.starts_with("L3") { change(one, "L2") } else { None },
                    bytes: self.bytes::<K>(layout),
                    rejected: one.rejected,
                    disturbed: one.disturbed,
                });
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_sample_counts_only_where_there_is_no_other() {
        let sample = |ns, disturbed| Sample { ns, rejected: 0, disturbed };
        let mut series = Series::default();
        series.take_run(&[sample(9.0, true), sample(1.0, false), sample(3.0, false)]);
        series.take_run(&[sample(9.0, true), sample(7.0, true), sample(8.0, true)]);
        assert_eq!(series.ns, [2.0, 8.0]);
        assert_eq!((series.rejected, series.disturbed), (1, 3));
    }
}
