//! The replay of a tree on this machine: time, and beside it the misses of the same replay in modelled
//! caches.

use super::modelled::{Met, Setup};
use super::params::{FreeList, Rules};
use super::scenario::{Quotas, Scenario};
use super::timed::{TIMED, Times, Timing, time};
use crate::layout::Order;
use crate::measure::Memory;
use crate::trace::Pages;
use crate::tree::Tree;
use model::Params as Caches;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// CPUs that take part, at most.
const MOST_CPUS: usize = 4;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The groups.
    pub tree: &'a Tree,
    /// CPUs of the memory layout.
    pub lanes: u32,
    /// CPUs that this process may run on.
    pub allowed: &'a [u32],
    /// Whether objects are allocated in a shuffled order.
    pub shuffled: bool,
    /// Independent repetitions.
    pub runs: u32,
    /// Counted periods of each.
    pub periods: u32,
    /// Where shuffles start.
    pub seed: u64,
    /// How per-CPU memory is laid out.
    pub memory: Memory,
    /// The caches in which the same is modelled, if it is.
    pub caches: Option<Caches>,
}

/// One table: time and misses.
#[derive(Clone, Debug)]
pub struct Here {
    /// CPUs of the memory layout.
    pub lanes: u32,
    /// CPUs that took part.
    pub cpus: usize,
    /// CPUs on which each leaf had a task.
    pub on: u32,
    /// In which order objects were allocated.
    pub order: &'static str,
    /// Microseconds of a period, and of the leaves' quota in it.
    pub limits: (u64, u64),
    /// What a period is made of.
    pub rules: Rules,
    /// What was measured.
    pub times: Times,
    /// What the same layouts met in modelled caches.
    pub met: Vec<Met>,
}

impl Here {
    /// Replays on this machine, and in modelled caches.
    ///
    /// # Errors
    ///
    /// What the system refused, as text.
    pub fn replay(asked: &Question<'_>, progress: impl FnMut(&str)) -> Result<Self, String> {
        let mut rules = Rules::fixed();
        rules.seed = asked.seed;
        let cpus: Vec<u32> = asked.allowed.iter().copied().take(MOST_CPUS).collect();
        let (count, on) = (cpus.len(), cpus.len() as u32);
        let scenario = Scenario::new(asked.tree, rules, cpus, on, Quotas::Leaves);
        let order = if asked.shuffled { Order::Shuffled } else { |_| Order::Allocation };
        let timing = Timing {
            tree: asked.tree,
            lanes: asked.lanes,
            order,
            runs: asked.runs,
            periods: asked.periods,
            seed: asked.seed,
            memory: asked.memory,
        };
        let times = time(&timing, &scenario, progress)?;
        let quota = scenario.quotas.first().map_or(0, |(_, quota)| *quota as u64 / 1000);
        let limits = (scenario.period(), quota);
        let met = match asked.caches {
            None => Vec::new(),
            Some(mut caches) => {
                caches.cores = asked.lanes as usize;
                let free_list =
                    if asked.shuffled { FreeList::Random } else { FreeList::Sequential };
                modelled(&Setup {
                    name: "this machine",
                    tree: asked.tree,
                    lanes: asked.lanes,
                    scenario,
                    nodes: 1,
                    free_list,
                    caches,
                    pages: &[Pages::Scattered],
                })?
            }
        };
        let order = order(asked.seed).name();
        Ok(Self { lanes: asked.lanes, cpus: count, on, order, limits, rules, times, met })
    }
}

/// The timed layouts, two at once.
fn modelled(setup: &Setup<'_>) -> Result<Vec<Met>, String> {
    let open = Mutex::new(TIMED.to_vec());
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let variant = open.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(variant) = variant else { return };
            let met = variant.replay(setup);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((variant, met));
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(variant, _)| *variant);
    let mut all = Vec::new();
    for (_, met) in done {
        all.extend(met?);
    }
    Ok(all)
}
