//! Which CPUs are threads of one physical core.

use super::CPU_DIRECTORY;
use super::files::Files;
use super::issue::TopologyIssue;
use crate::cpu::{CpuId, CpuMask};
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
