//! A replay in the modelled caches: misses of each phase, in each layout.

use super::cpu::{Player, Stage};
use super::params::FreeList;
use super::phase::Phase;
use super::place::{Habits, Memory};
use super::scenario::Scenario;
use super::{check, variant::Variant};
use crate::layout::{Layout, Order};
use crate::model::Model;
use crate::structs::recorded::record;
use crate::trace::Pages;
use crate::tree::Tree;
use corelocal::{Area, CpuId};
use crossbeam_epoch as epoch;
use model::{Access, Hierarchy, Params as Caches, Stats};
use std::collections::BTreeMap;

/// What a phase met, all counted periods together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Units of it, as [`Phase::unit`] calls them.
    pub units: u64,
    /// Lines that were not in the core's own first level.
    pub l1: u64,
    /// Nor in its second.
    pub l2: u64,
    /// Nor in the last level.
    pub last: u64,
}

impl Tally {
    /// With another one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            units: self.units + other.units,
            l1: self.l1 + other.l1,
            l2: self.l2 + other.l2,
            last: self.last + other.last,
        }
    }
}

/// What one layout met in one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Met {
    /// The layout.
    pub variant: Variant,
    /// Where its pages lie.
    pub pages: Pages,
    /// Its phases.
    pub phases: BTreeMap<Phase, Tally>,
    /// A sum of what all steps left behind, which does not depend on the layout.
    pub left: u64,
}

impl Met {
    /// All phases together.
    pub fn total(&self) -> Tally {
        self.phases.values().fold(Tally::default(), |all, phase| all.and(*phase))
    }
}

/// What is replayed, in whatever layout.
#[derive(Clone, Debug)]
pub(super) struct Setup<'a> {
    pub(super) name: &'a str,
    pub(super) tree: &'a Tree,
    /// CPUs of the memory layout, of which those of the scenario do something.
    pub(super) lanes: u32,
    pub(super) scenario: Scenario,
    pub(super) nodes: u32,
    pub(super) free_list: FreeList,
    pub(super) caches: Caches,
    pub(super) pages: &'a [Pages],
}

/// A replay in the layout `L`, whose name is `variant`, with pages of each kind.
///
/// # Errors
///
/// What the system refused, as text; in debug builds, what does not add up.
pub(super) fn replay<L: Layout>(setup: &Setup<'_>, variant: Variant) -> Result<Vec<Met>, String> {
    let Setup { lanes, nodes, free_list, .. } = *setup;
    let said =
        |error: &dyn core::fmt::Display| format!("{} of {}: {error}", variant.name(), setup.name);
    let machine = Area::global().lanes() as u32 - 1;
    let area = Area::builder().cpus(lanes.max(machine)).odd_lines(variant.is_odd());
    let area = area.build().map_err(|error| said(&error))?;
    let model = Model::<L>::build(setup.tree, lanes, Order::Allocation, &area);
    let model = model.map_err(|error| said(&error))?;
    let of = |&pages: &Pages| {
        let habits = Habits { nodes, free_list, pages, seed: setup.scenario.rules.seed };
        let sets = setup.caches.l1.sets();
        let mut machine = Modelled {
            memory: Memory::new(&model, habits),
            machine: Hierarchy::new(&setup.caches),
            line: setup.caches.l1.line() as u64,
            sets,
            newest: vec![u64::MAX; sets * setup.caches.cores],
            phases: BTreeMap::new(),
        };
        let scenario = setup.scenario.clone();
        let left = periods(&model, scenario, &mut machine).map_err(|what| said(&what))?;
        Ok(Met { variant, pages, phases: machine.phases, left })
    };
    setup.pages.iter().map(of).collect()
}

/// The modelled machine, and what its phases met.
struct Modelled {
    memory: Memory,
    machine: Hierarchy,
    line: u64,
    /// Sets of the first level.
    sets: usize,
    /// Of each core and set of the first level the line that was used last.
    newest: Vec<u64>,
    phases: BTreeMap<Phase, Tally>,
}

impl Modelled {
    /// One step of a core, which used this.
    fn step(&mut self, phase: Phase, core: CpuId, units: u64, touches: &[(usize, usize)]) {
        let before = self.machine.stats(core.index());
        for &(address, bytes) in touches {
            let Some(physical) = self.memory.of(address) else { continue };
            // No field that crosses a page is used.
            let last = physical + bytes.max(1) as u64 - 1;
            for line in physical / self.line..=last / self.line {
                let set = core.index() * self.sets + line as usize % self.sets;
                // What the set used last is there, and is its newest already.
                if std::mem::replace(&mut self.newest[set], line) != line {
                    self.machine.access(core.index(), line * self.line, Access::Read);
                }
            }
        }
        let after = self.machine.stats(core.index());
        let misses = |of: fn(&Stats) -> u64| of(&after) - of(&before);
        let tally = self.phases.entry(phase).or_default();
        *tally = tally.and(Tally {
            units,
            l1: misses(|stats| stats.l1.misses()),
            l2: misses(|stats| stats.l2.misses()),
            last: misses(|stats| stats.shared.misses()),
        });
    }
}

/// All periods; of those before the counted ones nothing is kept.
fn periods<L: Layout>(
    model: &Model<L>,
    mut scenario: Scenario,
    caches: &mut Modelled,
) -> Result<u64, String> {
    let guard = &epoch::pin();
    let stage = Stage::new(model, &scenario);
    let rules = scenario.rules;
    let mut players: Vec<Player<'_, L>> = (0..scenario.cpus.len())
        .map(|place| Player::new(&stage, guard, &scenario, place))
        .collect();
    for period in 0..rules.warm_up + rules.periods {
        if period == rules.warm_up {
            caches.phases.clear();
        }
        let came = if period == 0 { Vec::new() } else { scenario.next() };
        for (place, player) in players.iter_mut().enumerate() {
            let came = came.iter().filter(|(_, to)| *to == place).map(|(leaf, _)| *leaf);
            let ((), log) = record(|| player.begin(&scenario.tasks[place], came));
            caches.step(Phase::Wake, player.cpu(), 0, &log.touches);
            let (group, at) = scenario.shares(period);
            player.shares = (at == place).then_some(group);
            player.goes_offline = scenario.offline(period) == place;
        }
        for phase in Phase::period(rules.balances) {
            phase_of_all(&stage, &mut players, phase, caches);
            if cfg!(debug_assertions) && phase == Phase::Sleep {
                check::check(&stage, &players, false)?;
            }
            if cfg!(debug_assertions) && phase == Phase::Throttle {
                check::check(&stage, &players, true)?;
            }
        }
    }
    Ok(check::left(&stage))
}

/// All CPUs at once: a step of the first, one of the second, and so on.
fn phase_of_all<'g, L: Layout>(
    stage: &Stage<'g, L>,
    players: &mut [Player<'g, L>],
    phase: Phase,
    caches: &mut Modelled,
) {
    let mut open = vec![true; players.len()];
    for at in 0.. {
        let mut is_over = true;
        for (player, open) in players.iter_mut().zip(&mut open).filter(|(_, open)| **open) {
            let (units, log) = record(|| player.step(stage, phase, at));
            *open = units.is_some();
            if let Some(units) = units {
                is_over = false;
                caches.step(phase, player.cpu(), units, &log.touches);
            }
        }
        if is_over {
            break;
        }
    }
}
