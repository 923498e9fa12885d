//! All runs of the parameters in all layouts, shared out among threads.

use super::modelled::{Met, Setup};
use super::params::{Params, Rules, Run};
use super::scenario::{Quotas, Scenario};
use super::variant::Variant;
use crate::trace::Pages;
use crate::tree::Tree;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// One run in all layouts.
#[derive(Clone, Debug)]
pub struct Regime {
    /// The run.
    pub run: Run,
    /// What a period is made of.
    pub rules: Rules,
    /// Which groups have a quota.
    pub quotas: Quotas,
    /// Microseconds of a period, and of the first kind of quota in it.
    pub limits: (u64, u64),
    /// What each layout met, with pages of each kind.
    pub met: Vec<Met>,
}

/// Replays every run in every layout with pages of both kinds, `threads` at once, telling `progress`
/// about it. What comes out does not depend on how many threads there are.
///
/// # Errors
///
/// The first thing that the system refused, or in debug builds that did not add up, as text.
pub fn regimes(
    params: &Params,
    quotas: Quotas,
    threads: usize,
    progress: impl Fn(&str) + Sync,
) -> Result<Vec<Regime>, String> {
    let jobs: Vec<(usize, Variant)> =
        (0..params.runs.len()).flat_map(|run| Variant::ALL.map(|variant| (run, variant))).collect();
    // The last ones first: the largest stand at the beginning, and two of them at once are much.
    let open = Mutex::new(jobs);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let job = open.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((at, variant)) = job else { return };
            let run = &params.runs[at];
            progress(&format!("replay of {} in {}", run.name, variant.name()));
            let met = one(run, params.rules, quotas, variant);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, variant, met));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.max(1) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, variant, _)| (*at, *variant));
    let mut regimes: Vec<Regime> = params
        .runs
        .iter()
        .map(|run| regime(run, params.rules, quotas))
        .collect::<Result<_, _>>()?;
    for (at, _, met) in done {
        regimes[at].met.extend(met?);
    }
    Ok(regimes)
}

fn tree(run: &Run) -> Result<Tree, String> {
    Tree::regular(run.width, run.depth).map_err(|error| format!("run {}: {error}", run.name))
}

fn scenario(run: &Run, tree: &Tree, rules: Rules, quotas: Quotas) -> Scenario {
    Scenario::new(tree, rules, (0..run.cpus).collect(), run.on, quotas)
}

fn one(run: &Run, rules: Rules, quotas: Quotas, variant: Variant) -> Result<Vec<Met>, String> {
    let tree = tree(run)?;
    variant.replay(&Setup {
        name: &run.name,
        tree: &tree,
        lanes: run.cpus,
        scenario: scenario(run, &tree, rules, quotas),
        nodes: run.nodes,
        free_list: run.free_list,
        caches: run.caches,
        pages: &[Pages::Scattered, Pages::Contiguous],
    })
}

/// A regime in which nothing was met yet.
fn regime(run: &Run, rules: Rules, quotas: Quotas) -> Result<Regime, String> {
    let scenario = scenario(run, &tree(run)?, rules, quotas);
    let quota = scenario.quotas.first().map_or(0, |(_, quota)| *quota as u64 / 1000);
    let limits = (scenario.period(), quota);
    Ok(Regime { run: run.clone(), rules, quotas, limits, met: Vec::new() })
}
