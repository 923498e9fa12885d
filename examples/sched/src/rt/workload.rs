//! What CPUs do with a priority vector, recorded access by access.

use super::domain::{InDomain, RootDomain, Vector};
use super::params::Params;
use crate::rng::Rng;
use corelocal::priority::Layout;
use corelocal::priority::observed::{self, AccessKind};
use corelocal::{CpuId, CpuMask, CpuSlot, Priority};
use model::coherence::{Access, Kind, Machine, Operation, Workload};
use std::cell::RefCell;

/// The tag of a change of priority.
pub(super) const SET: u32 = 0;
/// The tag of a search.
pub(super) const FIND: u32 = 1;
/// The tag of what is done to the fields around the vector.
pub(super) const AROUND: u32 = 2;

/// What CPUs do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// They go from normal to priority 99 and back.
    SetOnly,
    /// Half of it that; half searches for one below 99 in the own instance.
    Mix50,
    /// As `Mix50`, with random priorities from 1 to 99.
    Spread,
    /// As `Mix50`, with searches over all CPUs.
    Wide50,
    /// As `Mix50`; half of the changes are made by another CPU of the instance (a remote wake-up).
    Remote50,
}

impl Mix {
    /// All, in the order of the report.
    pub const ALL: [Self; 5] =
        [Self::SetOnly, Self::Mix50, Self::Spread, Self::Wide50, Self::Remote50];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SetOnly => "SetOnly",
            Self::Mix50 => "Mix50",
            Self::Spread => "Spread",
            Self::Wide50 => "Wide50",
            Self::Remote50 => "Remote50",
        }
    }
}

/// How a search is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// All CPUs at the lowest level.
    All,
    /// One of them.
    Any,
}

/// What is asked for of a layout.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The machine.
    pub machine: Machine,
    /// The workload.
    pub mix: Mix,
    /// How a search is asked for.
    pub search: Search,
    /// What is modelled.
    pub params: &'a Params,
    /// Whether the fields around the vector are used.
    pub around: bool,
    /// Whether the operations of all CPUs are mixed access by access; otherwise one ends before
    /// the next begins.
    pub interleaved: bool,
}

/// A machine whose CPUs use one vector.
#[derive(Debug)]
pub(super) struct Scene<L: Layout> {
    vector: InDomain<L>,
    slots: Vec<CpuSlot<InDomain<L>>>,
    overloaded: Vec<bool>,
    machine: Machine,
    mix: Mix,
    search: Search,
    instance_cores: usize,
    overload: u64,
    rises: u64,
    /// The CPUs of each instance, and of the machine.
    instances: Vec<CpuMask>,
    everywhere: CpuMask,
    found: CpuMask,
    rng: Rng,
}

thread_local! {
    static RECORD: RefCell<Vec<Access>> = const { RefCell::new(Vec::new()) };
}

fn record(access: observed::Access) {
    let kind = match access.kind {
        AccessKind::Load => Kind::Load,
        AccessKind::Store => Kind::Store,
        AccessKind::Update => Kind::Rmw,
    };
    let access = Access { address: access.address as u64, size: access.bytes as u32, kind };
    RECORD.with_borrow_mut(|record| record.push(access));
}

/// The accesses of `act`, appended to `to`.
fn recorded(to: &mut Vec<Access>, act: impl FnOnce()) {
    let before = observed::observe(Some(record));
    act();
    observed::observe(before);
    RECORD.with_borrow_mut(|record| to.append(record));
}

impl<L: Layout> Scene<L> {
    /// All CPUs at normal priority.
    pub(super) fn new(question: Question<'_>, seed: u64) -> Self {
        let Question { machine, mix, search, params, around, .. } = question;
        let order = machine.topology_order().into_iter().map(|cpu| CpuId::new(cpu as u32));
        let vector = Vector::<L>::try_new(order).expect("there is memory for a vector");
        let vector = InDomain::new(RootDomain::new(vector, machine.cpus()));
        let claim = |cpu| {
            let mut slot = Vector::claim(vector.clone(), CpuId::new(cpu)).expect("nobody has it");
            slot.set(Priority::NORMAL).expect("a level");
            slot
        };
        let instance = |at: usize| -> CpuMask {
            let cores = at * params.instance_cores..(at + 1) * params.instance_cores;
            let cpus = |core| (0..machine.threads()).map(move |thread| machine.cpu(core, thread));
            cores.flat_map(cpus).map(|cpu| CpuId::new(cpu as u32)).collect()
        };
        Self {
            slots: (0..machine.cpus() as u32).map(claim).collect(),
            vector,
            overloaded: vec![false; machine.cpus()],
            machine,
            mix,
            search,
            instance_cores: params.instance_cores,
            overload: if around { params.overload } else { 0 },
            rises: 0,
            instances: (0..machine.cores() / params.instance_cores).map(instance).collect(),
            everywhere: CpuMask::first_cpus(machine.cpus() as u32),
            found: CpuMask::with_bound(machine.cpus()),
            rng: Rng::new(seed),
        }
    }

    /// The vector and what is around it.
    pub(super) fn vector(&self) -> &InDomain<L> {
        &self.vector
    }

    /// A CPU that is next.
    pub(super) fn any_cpu(&mut self) -> usize {
        self.rng.below(self.machine.cpus())
    }

    /// The next operation of `cpu`: its accesses to the vector, then those around it.
    pub(super) fn step(
        &mut self,
        cpu: usize,
        accesses: &mut Vec<Access>,
        around: &mut Vec<Access>,
    ) -> u32 {
        if self.mix == Mix::SetOnly || self.rng.below(2) == 0 {
            self.set(cpu, accesses, around);
            return SET;
        }
        let priority = if self.mix == Mix::Spread { self.random_rt() } else { Priority::rt(99) };
        let allowed = match self.mix {
            Mix::Wide50 => &self.everywhere,
            _ => &self.instances[self.machine.core_of(cpu) / self.instance_cores],
        };
        let (vector, found) = (&self.vector, &mut self.found);
        recorded(accesses, || match self.search {
            Search::All => _ = vector.find(priority, allowed, found),
            Search::Any => _ = vector.find_any(priority, allowed, CpuId::new(cpu as u32)),
        });
        FIND
    }

    fn set(&mut self, cpu: usize, accesses: &mut Vec<Access>, around: &mut Vec<Access>) {
        let remote = self.mix == Mix::Remote50 && self.rng.below(2) == 0;
        let target = if remote { self.neighbour(cpu) } else { cpu };
        let old = self.slots[target].get();
        let new = match self.mix {
            Mix::Spread => self.random_rt(),
            _ if old == Priority::NORMAL => Priority::rt(99),
            _ => Priority::NORMAL,
        };
        let slot = &mut self.slots[target];
        recorded(accesses, || slot.set(new).expect("a level of the vector"));
        if self.overload > 0 {
            self.tasks_of_the_queue(target, new > old, around);
        }
    }

    /// What the scheduler does around the vector when a CPU goes up or down.
    fn tasks_of_the_queue(&mut self, cpu: usize, rises: bool, around: &mut Vec<Access>) {
        let domain = self.vector.domain();
        let overloaded = &mut self.overloaded[cpu];
        if rises {
            self.rises += 1;
            if self.rises % self.overload == 0 && !*overloaded {
                *overloaded = true;
                recorded(around, || domain.overload(cpu));
            }
            return;
        }
        if *overloaded {
            *overloaded = false;
            recorded(around, || domain.relieve(cpu));
        }
        recorded(around, || domain.pull());
    }

    fn random_rt(&mut self) -> Priority {
        Priority::rt(1 + self.rng.below(99) as u8)
    }

    /// Another CPU of the instance of `cpu`.
    fn neighbour(&mut self, cpu: usize) -> usize {
        let instance = &self.instances[self.machine.core_of(cpu) / self.instance_cores];
        let others = instance.iter().map(CpuId::index).filter(|other| *other != cpu);
        let at = self.rng.below(instance.len() - 1);
        others.clone().nth(at).expect("an instance has other CPUs")
    }
}

impl<L: Layout> Workload for Scene<L> {
    fn next(&mut self, cpu: usize, accesses: &mut Vec<Access>) -> Operation {
        let mut around = Vec::new();
        let tag = self.step(cpu, accesses, &mut around);
        accesses.append(&mut around);
        // Processors run ahead: they load the mask before they know the count.
        Operation { tag, overlap: tag == FIND }
    }
}
