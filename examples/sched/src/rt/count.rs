//! The vector in the coherence model: what each layout's accesses cost.

use super::names::Names;
use super::params::Params;
use super::workload::{AROUND, FIND, Question, SET, Scene};
use corelocal::priority::Layout;
use model::coherence::{Directory, HeatMap, Measure, Order, TagReport, Timing};
use serde::Serialize;

/// A layout on a machine under a workload: means over the seeds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The layout.
    pub layout: String,
    /// Coherence misses of a set, of those to the vector.
    pub set: f64,
    /// Coherence misses of a search.
    pub find: f64,
    /// Transfers of the vector's hottest line, for each operation.
    pub hottest: f64,
    /// What lies in that line.
    pub hottest_name: String,
    /// Copies that a set takes away from other cores.
    pub invalidations: f64,
    /// Misses of a set that wait for another socket.
    pub across: f64,
    /// Lines that a search reads.
    pub lines_read: f64,
    /// Misses of what is done around the vector, for each operation.
    pub around: f64,
    /// Lines of memory, everything included.
    pub lines: usize,
    /// The largest distance of a seed's misses (set or find) from their mean, as a part of it.
    pub spread: f64,
    /// With a clock: think time in nanoseconds, means of a set and of a search in nanoseconds,
    /// operations of the machine in a microsecond.
    pub clock: Vec<(u64, f64, f64, f64)>,
}

/// One run in the directory.
struct Run {
    directory: Directory,
    names: Names,
    lines: usize,
}

fn replay<L: Layout>(question: Question<'_>, seed: u64) -> Run {
    let Question { machine, params, interleaved, .. } = question;
    let mut scene = Scene::<L>::new(question, seed);
    let mut directory = Directory::new(machine);
    if interleaved {
        access_by_access(&mut scene, &mut directory, params);
    } else {
        one_after_the_other(&mut scene, &mut directory, params);
    }
    let (names, lines) = (Names::of(scene.vector()), scene.vector().footprint().lines());
    Run { directory, names, lines }
}

/// Operations of random CPUs, each ended before the next one begins.
fn one_after_the_other<L: Layout>(
    scene: &mut Scene<L>,
    directory: &mut Directory,
    params: &Params,
) {
    let (mut accesses, mut others) = (Vec::new(), Vec::new());
    for turn in 0..params.warm_up + params.operations {
        if turn == params.warm_up {
            directory.reset_counts();
        }
        let cpu = scene.any_cpu();
        accesses.clear();
        others.clear();
        let tag = scene.step(cpu, &mut accesses, &mut others);
        for (tag, accesses) in [(tag, &accesses), (AROUND, &others)] {
            if tag != AROUND || !accesses.is_empty() {
                directory.begin(cpu, tag);
            }
            for access in accesses {
                directory.access(cpu, access.address, access.size, access.kind, tag);
            }
        }
    }
}

/// Every CPU has an operation under way, and random CPUs do one access each.
fn access_by_access<L: Layout>(scene: &mut Scene<L>, directory: &mut Directory, params: &Params) {
    let mut under_way = vec![(0, Vec::new(), 0); directory.machine().cpus()];
    let mut begun = 0;
    while begun < params.warm_up + params.operations {
        let cpu = scene.any_cpu();
        let (tag, accesses, next) = &mut under_way[cpu];
        if *next == accesses.len() {
            if begun == params.warm_up {
                directory.reset_counts();
            }
            begun += 1;
            accesses.clear();
            let mut others = Vec::new();
            *tag = scene.step(cpu, accesses, &mut others);
            *next = 0;
            directory.begin(cpu, *tag);
        }
        if let Some(access) = accesses.get(*next) {
            directory.access(cpu, access.address, access.size, access.kind, *tag);
            *next += 1;
        }
    }
}

impl Run {
    fn tag(&self, tag: u32) -> Option<TagReport> {
        self.directory.tags().into_iter().find(|report| report.tag == tag)
    }

    fn per(&self, tag: u32, count: impl Fn(&TagReport) -> u64) -> f64 {
        self.tag(tag).map_or(0.0, |report| report.per_operation(count(&report)))
    }

    /// The vector's line with the most transfers.
    fn hottest(&self, operations: u64) -> (f64, String) {
        let lines = self.directory.lines().into_iter();
        let named = lines
            .filter_map(|line| Some((line.counts.transfers(), self.names.of_line(line.address)?)));
        // Of equal ones the first in memory; addresses differ from run to run, names do not.
        let hottest = named.rev().max_by_key(|(transfers, _)| *transfers);
        let (transfers, name) = hottest.unwrap_or_default();
        (transfers as f64 / operations as f64, name)
    }
}

/// The row of one layout.
pub fn row<L: Layout>(layout: &str, question: Question<'_>) -> Row {
    let params = question.params;
    let runs: Vec<Run> = params.seeds.iter().map(|seed| replay::<L>(question, *seed)).collect();
    let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let misses = |tag| move |run: &Run| run.per(tag, |report| report.counts.misses());
    let (set, find) = (mean(&misses(SET)), mean(&misses(FIND)));
    let distance = |tag, mean: f64| {
        let of = misses(tag);
        runs.iter().map(|run| (of(run) - mean).abs() / mean.max(1e-9)).fold(0.0, f64::max)
    };
    let spread = f64::max(distance(SET, set), if find > 0.0 { distance(FIND, find) } else { 0.0 });
    let around_misses = |run: &Run| {
        let misses = run.tag(AROUND).map_or(0, |report| report.counts.misses());
        misses as f64 / params.operations as f64
    };
    let hottest: Vec<(f64, String)> =
        runs.iter().map(|run| run.hottest(params.operations)).collect();
    Row {
        layout: layout.to_owned(),
        set,
        find,
        hottest: hottest.iter().map(|(transfers, _)| transfers).sum::<f64>() / runs.len() as f64,
        hottest_name: hottest[0].1.clone(),
        invalidations: mean(&|run| run.per(SET, |report| report.counts.invalidations)),
        across: mean(&|run| run.per(SET, |report| report.counts.cross_socket)),
        lines_read: mean(&|run| run.per(FIND, |report| report.lines_read)),
        around: mean(&around_misses),
        lines: runs[0].lines,
        spread,
        clock: params.think.iter().map(|think| clock::<L>(question, *think)).collect(),
    }
}

/// The same with a clock, first seed only: think time, set, find, throughput.
fn clock<L: Layout>(question: Question<'_>, think: u64) -> (u64, f64, f64, f64) {
    let Question { machine, params, .. } = question;
    let seed = params.seeds[0];
    let mut scene = Scene::<L>::new(question, seed);
    let timed =
        model::coherence::Params { machine, latencies: params.latencies, siblings_share: true };
    let mut timing = Timing::new(&timed, think, seed);
    timing.run(&mut scene, params.timed_operations);
    let report = timing.run(&mut scene, params.timed_operations);
    let mean = |tag| report.tags.iter().find(|of| of.tag == tag).map_or(0.0, |of| of.mean_ns());
    (think, mean(SET), mean(FIND), report.throughput())
}

/// A picture of the lines of the first seed's run, the hottest first.
pub fn heat_map<L: Layout>(layout: &str, question: Question<'_>) -> String {
    let Question { machine, mix, params, .. } = question;
    let run = replay::<L>(question, params.seeds[0]);
    let title = format!("{layout}, {}, {} CPUs", mix.name(), machine.cpus());
    let note = format!(
        "{} operations after {} more; transfers of each line between cores, model",
        params.operations, params.warm_up
    );
    let map = HeatMap::new(title).note(note);
    let map = run
        .names
        .regions
        .into_iter()
        .fold(map, |map, region| map.region(region.name, region.base, region.fields));
    let map = map.measure(Measure::Transfers).order(Order::Hottest).rows(16);
    map.svg(&run.directory.lines())
}
