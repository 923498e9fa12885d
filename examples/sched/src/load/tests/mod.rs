//! Load tracking and weights against closed forms and brute force. Counts of cases follow
//! `PROPTEST_CASES`, as everywhere; without it the costly sequences are fewer than proptest's 256:
//!
//! ```text
//! PROPTEST_CASES=10000 cargo test --release -p sched --lib load::
//! ```

/// Calls `$case` in all layouts of all kernels.
macro_rules! in_every_layout {
    ($case:ident) => {
        $case::<L0<V6_14>>();
        $case::<L1b<V6_14>>();
        $case::<L2<V7_2>>();
        $case::<L2<V7_3>>();
        $case::<L3>();
    };
}

mod groups;
mod pelt;
mod random;
mod settings;
mod shares;
mod threads;
mod tree;

use super::*;
use crate::layout::{Gate, Held, L0, L1b, L2, L3, Layout, Order};
use crate::model::{Locked, Model, Task, check};
use crate::structs::{CfsRqFields, SeFields, v6_14::V6_14, v7_2::V7_2, v7_3::V7_3};
use crate::tree::{Limits, Tree};
use corelocal::{Area, CpuId};
use crossbeam_epoch as epoch;
use proptest::test_runner::Config as ProptestConfig;

/// Settings of a property: `usual` cases, or `PROPTEST_CASES`.
fn config(usual: u32) -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if asked { config } else { ProptestConfig { cases: usual, ..config } }
}

/// An area with at least `cpus` CPUs.
fn area(cpus: u32) -> Area {
    let machine = Area::global().lanes() as u32 - 1;
    Area::builder().cpus(machine.max(cpus)).build().unwrap()
}

/// A regular tree without load.
fn idle<L: Layout>(width: u64, depth: u64, cpus: u32, room: usize) -> Model<L> {
    let tree = Tree::regular(width, depth).unwrap();
    Model::build_idle(&tree, cpus, Order::Allocation, &area(cpus), room).unwrap()
}

/// The queue of group `index` on `cpu`.
fn cfs<'m, L: Layout>(locked: &Locked<'m, L>, index: usize) -> &'m crate::layout::Cfs<L> {
    locked.cfs(index).unwrap()
}

/// `step` with the run queue of `cpu` locked.
fn on<L: Layout, R>(model: &Model<L>, cpu: u32, step: impl FnOnce(&Locked<'_, L>) -> R) -> R {
    let guard = &epoch::pin();
    step(&Locked::new(model, guard, CpuId::new(cpu)))
}

/// Lets time pass on all CPUs.
fn advance<L: Layout>(model: &Model<L>, ns: u64) {
    for cpu in model.cpus() {
        on(model, cpu.index() as u32, |locked| locked.advance(ns));
    }
}

/// A tick of every task's chain, and the decay of the rest.
fn tick<L: Layout>(model: &Model<L>, tasks: &[Task<'_, L>]) {
    for task in tasks.iter().filter(|task| task.se().on_rq().get() != 0) {
        on(model, task.cpu().index() as u32, |locked| {
            for se in locked.chain(task.se()) {
                queue::update_level(locked, se.cfs_rq().get().unwrap(), se);
            }
        });
    }
    for cpu in model.cpus() {
        on(model, cpu.index() as u32, update_blocked_averages);
    }
}

const MS: u64 = 1_000_000;
