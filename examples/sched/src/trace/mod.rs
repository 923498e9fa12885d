//! The lines that the walks use in each layout, and what of them misses in a machine's caches.
//!
//! The walks are those that are timed, over structures that list what is used of them
//! ([`recorded`](crate::structs::recorded)). The real addresses become addresses of a memory that
//! is the same in every run (`place`), and these go through a model of the caches
//! ([`model::Hierarchy`]). So the figures are exact, are the same for the same arguments, and say
//! nothing about time: there is no prefetcher, no address translation and no coherence in it.

mod place;
mod replay;

pub use place::Pages;
pub use replay::{Lines, Misses};

use crate::layout::{L0, L1b, L2, Layout, Order};
use crate::measure::Kernels;
use crate::model::Model;
use crate::ops::{Operation, walk};
use crate::structs::recorded::{Line, Recording, record};
use crate::structs::{Kernel, exchanged::Exchanged, reorder::Reorder, v6_14::V6_14, v7_2::V7_2};
use crate::tree::Tree;
use corelocal::Area;
use crossbeam_epoch as epoch;
use model::Params;
use place::{Frames, Places};
use replay::{Trace, Walk, replay};
use std::panic::resume_unwind;
use std::thread;

/// The machine that is modelled unless another one is asked for.
pub const MACHINE: &str = include_str!("../../tree.params");

/// What to model.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The machine: each core walks the state of one CPU.
    pub machine: Params,
    /// Whose structures.
    pub kernels: Kernels,
    /// CPUs that per-CPU memory has lanes for, at least: one for each of this machine. Lanes that
    /// are not modelled change nothing.
    pub least_lanes: u32,
    /// Where shuffles start.
    pub seed: u64,
}

/// One layout's figures for one walk.
#[derive(Clone, Debug)]
pub struct Row {
    /// The layout's name.
    pub layout: &'static str,
    /// The kernel whose structures were walked.
    pub structs: &'static str,
    /// Lines from one object to the next in per-CPU memory; none where objects are on the heap.
    pub step: Option<usize>,
    /// In which order objects were allocated.
    pub order: &'static str,
    /// Where the pages lie.
    pub pages: Pages,
    /// The walk.
    pub operation: Operation,
    /// Different lines that one visit uses, on average.
    pub lines: Lines,
    /// Misses a visit where the same walk, and the one that undoes it, went before.
    pub warm: Misses,
    /// Misses a visit where each core's own caches are full of other data.
    pub swept: Misses,
}

/// Walks `tree` in every layout on every CPU of the modelled machine, telling `progress` about it.
///
/// # Errors
///
/// What the system refused, as text.
pub fn trace(
    config: &Config,
    tree: &Tree,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Row>, String> {
    progress(&format!("cache model of {} CPUs", config.machine.cores));
    let in_order = |order| Setting { config, tree, order, rows: Vec::new() }.all();
    let [first, second] = thread::scope(|scope| {
        let running = [Order::Allocation, Order::Shuffled(config.seed)]
            .map(|order| scope.spawn(move || in_order(order)));
        running.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let mut rows = first?;
    rows.extend(second?);
    Ok(rows)
}

/// What the rows of one order are made from.
struct Setting<'a> {
    config: &'a Config,
    tree: &'a Tree,
    order: Order,
    rows: Vec<Row>,
}

impl Setting<'_> {
    /// Every layout.
    fn all(mut self) -> Result<Vec<Row>, String> {
        if self.config.kernels != Kernels::V7_2 {
            let structs = V6_14::NAME;
            self.trace::<L0<Recording<V6_14>>>(structs, None)?;
            self.trace::<L1b<Recording<V6_14>>>(structs, None)?;
            self.trace::<L2<Recording<V6_14>>>(structs, Some(16))?;
            self.trace::<L2<Recording<V6_14>>>(structs, Some(17))?;
            // 15 lines are odd by luck: a line behind them shows what the luck is worth.
            self.trace::<L2<Recording<Reorder, Line>>>(structs, Some(16))?;
            self.trace::<L2<Recording<Reorder>>>(structs, Some(15))?;
            self.trace::<L2<Recording<Exchanged>>>(structs, Some(15))?;
        }
        if self.config.kernels != Kernels::V6_14 {
            let structs = V7_2::NAME;
            self.trace::<L0<Recording<V7_2>>>(structs, None)?;
            self.trace::<L1b<Recording<V7_2>>>(structs, None)?;
            self.trace::<L2<Recording<V7_2>>>(structs, Some(17))?;
        }
        // Table by table, walk by walk, the layouts as above.
        self.rows.sort_by_key(|row| (row.pages, row.operation));
        Ok(self.rows)
    }

    /// One layout, whose objects in per-CPU memory are to lie `step` lines apart.
    fn trace<L: Layout>(
        &mut self,
        structs: &'static str,
        step: Option<usize>,
    ) -> Result<(), String> {
        let Config { machine, least_lanes, seed, .. } = *self.config;
        let said =
            |error: &dyn core::fmt::Display| format!("{} in the cache model: {error}", L::NAME);
        let cpus = u32::try_from(machine.cores).map_err(|error| said(&error))?;
        let odd = step.is_some_and(|step| step % 2 == 1);
        let area = Area::builder().cpus(cpus.max(least_lanes)).odd_lines(odd);
        let area = area.build().map_err(|error| said(&error))?;
        let model = Model::<L>::build(self.tree, cpus, self.order, &area);
        let model = model.map_err(|error| said(&error))?;
        let places = Places::new(&model, self.order);
        // With pages in a row, what an aged heap does to the order would show nothing more.
        let contiguous = (self.order == Order::Allocation).then_some(Pages::Contiguous);
        let pages = [Some(Pages::Scattered), contiguous].into_iter().flatten();
        let memory: Vec<(Pages, Frames)> =
            pages.map(|pages| (pages, Frames::new(pages, places.bytes(), seed))).collect();
        for cycle in CYCLES {
            let walks = listed(&model, &places, cycle, machine.l1.line());
            for (pages, frames) in &memory {
                let met = replay(&walks, &machine, frames);
                let rows = cycle.iter().zip(&walks).zip(met).map(|((&operation, walk), met)| Row {
                    layout: L::NAME,
                    structs,
                    step,
                    order: self.order.name(),
                    pages: *pages,
                    operation,
                    lines: walk.lines(),
                    warm: met.warm,
                    swept: met.swept,
                });
                self.rows.extend(rows);
            }
        }
        Ok(())
    }
}

/// Walks that follow each other again and again: the second of two undoes what the first did.
const CYCLES: [&[Operation]; 4] = [
    &[Operation::CpuWalk],
    &[Operation::Blocked],
    &[Operation::Throttle, Operation::Unthrottle],
    &[Operation::GroupWalk],
];

/// Lists the lines of a cycle's walks on every CPU; of a walk over all CPUs, on one.
fn listed<L: Layout>(
    model: &Model<L>,
    places: &Places,
    cycle: &[Operation],
    line: usize,
) -> Vec<Walk> {
    let guard = &epoch::pin();
    let mut lists = Vec::new();
    // The first time, what is found may be in an order to which it does not come back.
    for is_listed in [false, true] {
        for &operation in cycle {
            let walkers = if operation == Operation::GroupWalk { 1 } else { usize::MAX };
            let list = |cpu| {
                let (visits, log) = record(|| walk(model, guard, operation, cpu, false));
                Trace::new(&log, visits.count, places, line)
            };
            let traces: Vec<Trace> = model.cpus().take(walkers).map(list).collect();
            if is_listed {
                lists.push(Walk(traces));
            }
        }
    }
    lists
}

#[cfg(test)]
mod tests;
