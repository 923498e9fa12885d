//! The replay on this machine's CPUs: a thread for each, and the time that each phase takes.
//!
//! All layouts are built anew in each run and take turns, a period each, in a freshly shuffled order.
//! The null pair is one copy of L0 that is played twice, under two names.

use super::cpu::{Player, Stage};
use super::phase::Phase;
use super::scenario::Scenario;
use super::variant::Variant;
use crate::layout::{L0, L1, L1b, L2, Layout, Order};
use crate::measure::Memory;
use crate::measure::machine::{pin, preemptions};
use crate::measure::stats::{Estimate, estimate, median};
use crate::model::Model;
use crate::rng::Rng;
use crate::structs::{exchanged::Exchanged, reorder::Reorder, v6_14::V6_14, v7_2::V7_2};
use crate::tree::Tree;
use corelocal::CpuId;
use crossbeam_epoch::{self as epoch, Guard};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// The layouts that are timed, what the others are compared with first; then the first one again. Those of
/// [`Variant`] with another step than the area's own are the model's business only.
pub const TIMED: [Variant; 7] = [
    Variant::L0,
    Variant::L1,
    Variant::L1b,
    Variant::L2Odd,
    Variant::L3,
    Variant::L3Exchanged,
    Variant::L2Later,
];

/// What is timed.
#[derive(Clone, Debug)]
pub struct Timing<'a> {
    /// The groups.
    pub tree: &'a Tree,
    /// CPUs of the memory layout.
    pub lanes: u32,
    /// In which order objects are allocated, in a run.
    pub order: fn(u64) -> Order,
    /// Independent repetitions.
    pub runs: u32,
    /// Counted periods of a run.
    pub periods: u32,
    /// Where shuffles start.
    pub seed: u64,
    /// How per-CPU memory is laid out.
    pub memory: Memory,
}

/// A phase's time in one layout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timed {
    /// The layout; none for the second name of L0.
    pub variant: Option<Variant>,
    /// The phase.
    pub phase: Phase,
    /// Nanoseconds a unit, all CPUs.
    pub ns: Estimate,
    /// Against L0 in the same run.
    pub change: Estimate,
}

/// All phases' times.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Phase by phase, the layouts in their order, the null pair last.
    pub rows: Vec<Timed>,
    /// Samples that were left out because a thread was switched out meanwhile.
    pub rejected: u32,
    /// Samples that were kept all the same, a run having no other.
    pub disturbed: u32,
}

/// A layout on its stage, not knowing which it is.
trait Theatre: Sync {
    fn part<'a>(&'a self, guard: &'a Guard, place: usize) -> Box<dyn Part + 'a>;
}

/// One CPU's part.
trait Part {
    fn begin(&mut self, period: u32);
    fn play(&mut self, phase: Phase) -> u64;
}

struct Show<'m, L: Layout> {
    stage: Stage<'m, L>,
    scenario: Scenario,
}

struct Role<'a, L: Layout> {
    stage: &'a Stage<'a, L>,
    scenario: Scenario,
    player: Player<'a, L>,
    place: usize,
}

impl<L: Layout> Theatre for Show<'_, L> {
    fn part<'a>(&'a self, guard: &'a Guard, place: usize) -> Box<dyn Part + 'a> {
        let scenario = self.scenario.clone();
        // A stage's lifetime may be taken for a shorter one.
        let stage: &'a Stage<'a, L> = &self.stage;
        let player = Player::new(stage, guard, &scenario, place);
        Box::new(Role { stage, scenario, player, place })
    }
}

impl<L: Layout> Part for Role<'_, L> {
    fn begin(&mut self, period: u32) {
        let came = if period == 0 { Vec::new() } else { self.scenario.next() };
        let came = came.iter().filter(|(_, to)| *to == self.place).map(|(leaf, _)| *leaf);
        self.player.begin(&self.scenario.tasks[self.place], came);
        let (group, at) = self.scenario.shares(period);
        self.player.shares = (at == self.place).then_some(group);
        self.player.goes_offline = self.scenario.offline(period) == self.place;
    }

    fn play(&mut self, phase: Phase) -> u64 {
        (0..).map_while(|at| self.player.step(self.stage, phase, at)).sum()
    }
}

/// One sample: a phase of a period on one CPU.
#[derive(Clone, Copy, Debug)]
struct Sample {
    layout: usize,
    phase: Phase,
    units: u64,
    ns: f64,
    disturbed: bool,
}

/// Times every phase in every layout on `allowed`, at most four of them.
///
/// # Errors
///
/// What the system refused, as text.
pub fn time(
    timing: &Timing<'_>,
    scenario: &Scenario,
    mut progress: impl FnMut(&str),
) -> Result<Times, String> {
    let names = TIMED.len() + 1;
    let mut times = Times::default();
    // By phase and name, a value a run.
    let mut values = vec![vec![Vec::new(); names]; Phase::ALL.len()];
    for run in 0..timing.runs {
        progress(&format!("replay on {} lanes: run {} of {}", timing.lanes, run + 1, timing.runs));
        let samples = one_run(timing, scenario, run)?;
        for (phase, values) in Phase::ALL.into_iter().zip(&mut values) {
            for (name, values) in values.iter_mut().enumerate() {
                let of = |s: &&Sample| s.phase == phase && s.layout == name && s.units > 0;
                values.extend(times.value(&samples.iter().filter(of).collect::<Vec<_>>()));
            }
        }
    }
    for (phase, values) in Phase::ALL.into_iter().zip(&values) {
        let base = &values[0];
        let whole = |of: &Vec<f64>| !of.is_empty() && of.len() == base.len();
        for (name, of) in values.iter().enumerate().filter(|(_, of)| whole(of)) {
            let changes: Vec<f64> = of.iter().zip(base).map(|(ns, base)| ns / base - 1.0).collect();
            let variant = TIMED.get(name).copied();
            let (ns, change) = (estimate(of), estimate(&changes));
            times.rows.push(Timed { variant, phase, ns, change });
        }
    }
    Ok(times)
}

impl Times {
    /// A run's value: the median of its undisturbed samples; of all, where there is no other.
    fn value(&mut self, samples: &[&Sample]) -> Option<f64> {
        let a_unit = |s: &Sample| s.ns / s.units as f64;
        let all: Vec<f64> = samples.iter().map(|s| a_unit(s)).collect();
        let kept: Vec<f64> = samples.iter().filter(|s| !s.disturbed).map(|s| a_unit(s)).collect();
        let lost = (all.len() - kept.len()) as u32;
        *(if kept.is_empty() { &mut self.disturbed } else { &mut self.rejected }) += lost;
        let used = if kept.is_empty() { all } else { kept };
        (!used.is_empty()).then(|| median(&used))
    }
}

fn one_run(timing: &Timing<'_>, scenario: &Scenario, run: u32) -> Result<Vec<Sample>, String> {
    let area = timing.memory.area(timing.lanes)?;
    let seed = timing.seed.wrapping_add(u64::from(run));
    macro_rules! shows {
        ($($layout:ty),*) => {
            [$({
                let model = Model::<$layout>::build(
                    timing.tree, timing.lanes, (timing.order)(seed), &area,
                );
                model.map_err(|error| error.to_string())?
            }),*]
        };
    }
    let [l0] = shows!(L0<V6_14>);
    let [l1] = shows!(L1<V6_14>);
    let [l1b] = shows!(L1b<V6_14>);
    let [l2] = shows!(L2<V6_14>);
    let [l3] = shows!(L2<Reorder>);
    let [l3x] = shows!(L2<Exchanged>);
    let [later] = shows!(L2<V7_2>);
    fn show<'m, L: Layout>(model: &'m Model<L>, scenario: &Scenario) -> Box<dyn Theatre + 'm> {
        let stage = Stage::new(model, scenario);
        Box::new(Show { stage, scenario: scenario.clone() })
    }
    // In the order of `TIMED`.
    let shows = [
        show(&l0, scenario),
        show(&l1, scenario),
        show(&l1b, scenario),
        show(&l2, scenario),
        show(&l3, scenario),
        show(&l3x, scenario),
        show(&later, scenario),
    ];
    let barrier = Barrier::new(scenario.cpus.len());
    let refused = Mutex::new(None);
    let samples = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for place in 0..scenario.cpus.len() {
            let (shows, barrier, refused, samples) = (&shows, &barrier, &refused, &samples);
            scope.spawn(move || {
                if let Err(what) = pin(CpuId::new(scenario.cpus[place])) {
                    *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                }
                let own = on_one_cpu(timing, scenario, shows, barrier, place, seed);
                samples.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
            });
        }
    });
    match refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(what) => Err(what),
        None => Ok(samples.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// One CPU's part of all layouts.
fn on_one_cpu(
    timing: &Timing<'_>,
    scenario: &Scenario,
    shows: &[Box<dyn Theatre + '_>],
    barrier: &Barrier,
    place: usize,
    seed: u64,
) -> Vec<Sample> {
    let guard = &epoch::pin();
    let mut parts: Vec<(Box<dyn Part + '_>, u32)> =
        shows.iter().map(|show| (show.part(guard, place), 0)).collect();
    // The same on every CPU.
    let mut rng = Rng::new(seed);
    let mut turn: Vec<usize> = (0..=parts.len()).collect();
    let mut samples = Vec::new();
    for round in 0..scenario.rules.warm_up + timing.periods {
        rng.shuffle(&mut turn);
        for &name in &turn {
            // The last name is the first layout's second one.
            let at = if name == parts.len() { 0 } else { name };
            let (part, period) = &mut parts[at];
            part.begin(*period);
            *period += 1;
            for phase in Phase::period(scenario.rules.balances) {
                barrier.wait();
                let (before, start) = (preemptions(), Instant::now());
                let units = part.play(phase);
                let ns = start.elapsed().as_secs_f64() * 1e9;
                let disturbed = preemptions() != before;
                if round >= scenario.rules.warm_up {
                    samples.push(Sample { layout: name, phase, units, ns, disturbed });
                }
            }
        }
    }
    samples
}
