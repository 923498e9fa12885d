//! Each rule by a scene made for it, in every layout; random scenes against the checks; and each
//! check against a fault that was planted for it.

mod changes;
mod planted;
mod random;
mod rules;

use super::*;
use crate::layout::{L0, L1b, L2, L3, Layout, Order};
use crate::model::Model;
use crate::structs::CfsRqFields;
use crate::structs::recorded::{Line, Recording};
use crate::structs::{reorder::Reorder, v6_14::V6_14, v7_2::V7_2, v7_3::V7_3};
use crate::tree::{Group, Limits, Tree};
use corelocal::{Area, CpuId};
use std::sync::OnceLock;

const MS: u64 = 1_000_000;
const BOTH: [Semantics; 2] = [Semantics::EntityRemoved, Semantics::TasksDeferred];

/// A group: its parent and, if it is limited, quota and period in milliseconds.
type Spec = (usize, Option<(u64, u64)>);

fn tree(groups: &[Spec]) -> Tree {
    let group = |(at, &(parent, limit)): (usize, &Spec)| {
        let (quota, period) = limit.map_or((None, 100), |(quota, period)| (Some(quota), period));
        let limits =
            Limits { quota: quota.map(|ms| ms * 1000), period: period * 1000, ..Limits::default() };
        Group { path: format!("/{at}").into_bytes(), parent, limits }
    };
    Tree { groups: groups.iter().enumerate().map(group).collect() }
}

/// A model of a tree for `cpus` CPUs; the memory of all tests is one area's.
fn model<L: Layout>(tree: &Tree, cpus: u32) -> Model<L> {
    static AREA: OnceLock<Area> = OnceLock::new();
    let area = AREA.get_or_init(|| {
        let machine = Area::global().lanes() as u32 - 1;
        Area::builder().cpus(machine.max(4)).build().unwrap()
    });
    Model::build(tree, cpus, Order::Allocation, area).unwrap()
}

fn cpu(id: u32) -> CpuId {
    CpuId::new(id)
}

/// One busy task of the last group on each CPU, for `ms` milliseconds.
fn busy<'m, L: Layout>(model: &'m Model<L>, semantics: Semantics, ms: u64) -> Machine<'m, L> {
    let mut machine = Machine::new(model, Settings::new(semantics));
    for cpu in model.cpus() {
        machine.spawn(cpu, model.groups().len() - 1, Behaviour::BUSY, 0);
    }
    machine.run(ms * MS).unwrap();
    check(machine.control()).unwrap();
    machine
}

/// For charges by hand: a debt is noticed late.
fn patient(semantics: Semantics) -> Settings {
    Settings { tick: 50 * MS, ..Settings::new(semantics) }
}

fn remaining<L: Layout>(control: &Control<'_, L>, on: u32, group: usize) -> i64 {
    control.lock(cpu(on)).at().cfs(group).runtime_remaining().get()
}

fn throttled<L: Layout>(control: &Control<'_, L>, on: u32, group: usize) -> bool {
    control::is_throttled(control.lock(cpu(on)).at().cfs(group))
}

fn pool<L: Layout>(control: &Control<'_, L>, group: usize) -> i64 {
    control.lock(cpu(0)).at().pool(group).runtime.get()
}

/// Calls `$body` with `L` being each layout of each kernel, two of them recorded.
macro_rules! for_all_layouts {
    ($L:ident => $body:block) => {{
        fn case<$L: Layout>() $body
        case::<L0<V6_14>>();
        case::<L1b<V6_14>>();
        case::<L2<V6_14>>();
        case::<L3>();
        case::<L0<V7_2>>();
        case::<L1b<V7_2>>();
        case::<L2<V7_2>>();
        case::<L0<V7_3>>();
        case::<L1b<V7_3>>();
        case::<L2<V7_3>>();
        case::<L0<Recording<V6_14>>>();
        case::<L2<Recording<Reorder, Line>>>();
        case::<L2<Recording<V7_3>>>();
    }};
}
use for_all_layouts;
