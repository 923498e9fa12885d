//! Which CPUs are threads of one physical core.

use super::CPU_DIRECTORY;
use super::Topology;
use super::files::Files;
use super::issue::TopologyIssue;
use crate::cpu::{CpuId, CpuMask};
use std::collections::BTreeMap;
use std::path::Path;

/// A physical core. Core numbers repeat in each package, and on some machines in
/// each die, so that only the three together name one.
///
/// ```
/// use corelocal::Topology;
/// use corelocal::sys::topology::CoreKey;
/// use std::collections::BTreeSet;
///
/// // Physical cores: what compute-bound threads should be counted by.
/// let machine = Topology::current();
/// let cores: BTreeSet<CoreKey> = machine.online().iter().filter_map(|cpu| machine.core_of(cpu)).collect();
/// assert!(cores.len() <= machine.online().len());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct CoreKey {
    /// The package (socket); 0 where the system says that it does not know.
    pub package: u32,
    /// The die in the package; 0 where the system does not tell dies apart.
    pub die: u32,
    /// The core in the die; the numbers can have gaps.
    pub core: u32,
}

/// Which CPUs share a core.
impl Topology {
    /// The physical core of `cpu`; `None` where the system does not say, or has no
    /// such CPU at present.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::current();
    /// let cpus: Vec<_> = machine.online().iter().collect();
    /// // Whether two CPUs share a core's execution units.
    /// let threads = cpus.windows(2).filter(|pair| {
    ///     machine.core_of(pair[0]).is_some() && machine.core_of(pair[0]) == machine.core_of(pair[1])
    /// });
    /// assert!(threads.count() < cpus.len());
    /// ```
    pub fn core_of(&self, cpu: CpuId) -> Option<CoreKey> {
        self.read_cores().of(cpu)
    }

    /// Every physical core and its CPUs, ascending by the lowest of them; empty where the system does
    /// not say. CPUs that are not there at present have no core.
    ///
    /// Copies of a [`PerCpu`](crate::PerCpu) cannot be one a core: its threads run at the same time, and
    /// a section is exact only against what runs on *its* CPU. Read them together instead:
    ///
    /// ```
    /// use corelocal::{CpuId, PerCpu, PerCpuCell, Topology};
    /// let hits: PerCpu<PerCpuCell<u64>> = PerCpu::zeroed();
    /// hits.inc();
    /// let copy = |cpu: CpuId| hits.get(cpu).map_or(0, PerCpuCell::load);
    /// for (core, cpus) in Topology::current().cores() {
    ///     println!("{core:?}: {}", cpus.iter().map(copy).sum::<u64>());
    /// }
    /// ```
    ///
    /// What is to be one a core, and is updated by atomics or under a lock, takes its place in this list
    /// for its index.
    pub fn cores(&self) -> Vec<(CoreKey, CpuMask)> {
        self.read_cores().all()
    }

    /// The CPUs of `cpu`'s physical core, itself among them; `None` as for
    /// [`core_of`](Self::core_of).
    ///
    /// ```
    /// # use corelocal::{CpuMask, Topology};
    /// let machine = Topology::current();
    /// // One CPU of each core.
    /// let mut singles: CpuMask = machine.online().clone();
    /// singles.retain(|cpu| machine.smt_siblings(cpu).is_none_or(|all| all.first() == Some(cpu)));
    /// assert!(singles.is_subset(machine.online()));
    /// ```
    pub fn smt_siblings(&self, cpu: CpuId) -> Option<CpuMask> {
        let cores = self.read_cores();
        Some(cores.cpus(cores.of(cpu)?))
    }
}

/// What the CPUs' topology directories said.
pub(super) struct Cores {
    /// Ascending by CPU.
    keys: Vec<(CpuId, CoreKey)>,
    pub(super) issues: Vec<TopologyIssue>,
}

impl Cores {
    pub(super) fn read(root: &Path) -> Self {
        let mut files = Files::new(root);
        let present = files.numbered_entries(CPU_DIRECTORY, "cpu");
        let keys = present.into_iter().map(CpuId::new);
        let keys = keys.filter_map(|cpu| Some((cpu, key(&mut files, cpu)?))).collect();
        Self { keys, issues: files.into_issues() }
    }

    pub(super) fn of(&self, cpu: CpuId) -> Option<CoreKey> {
        let at = self.keys.binary_search_by_key(&cpu, |(cpu, _)| *cpu).ok()?;
        Some(self.keys[at].1)
    }

    /// The CPUs of `core`.
    pub(super) fn cpus(&self, core: CoreKey) -> CpuMask {
        self.keys.iter().filter(|(_, key)| *key == core).map(|(cpu, _)| *cpu).collect()
    }

    /// Each core with its CPUs, ascending by the lowest of them.
    pub(super) fn all(&self) -> Vec<(CoreKey, CpuMask)> {
        let mut all: Vec<(CoreKey, CpuMask)> = Vec::new();
        let mut places = BTreeMap::new();
        for (cpu, key) in &self.keys {
            let at = *places.entry(*key).or_insert_with(|| {
                all.push((*key, CpuMask::new()));
                all.len() - 1
            });
            all[at].1.insert(*cpu);
        }
        all
    }
}

fn key(files: &mut Files<'_>, cpu: CpuId) -> Option<CoreKey> {
    let directory = format!("{CPU_DIRECTORY}/cpu{cpu}/topology");
    let core = files.number(&format!("{directory}/core_id"))?;
    let package = files.number(&format!("{directory}/physical_package_id"))?;
    let die = files.optional_number(&format!("{directory}/die_id"));
    // -1 is the kernel's word for "not known".
    let known = |number: i64| u32::try_from(number).unwrap_or(0);
    Some(CoreKey { package: known(package), die: die.map_or(0, known), core: known(core) })
}
