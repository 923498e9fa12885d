//! The order of CPUs in which those that share a cache are neighbours.

use crate::cpu::CpuId;
use crate::sys::topology::Topology;
use alloc::vec::Vec;

/// The possible CPUs of a machine: those that share a last-level cache side by side, in it the
/// threads of a core side by side. Where the system does not say, by node, then by id.
pub(super) fn of_topology(machine: &Topology) -> Vec<CpuId> {
    let mut cpus: Vec<CpuId> = machine.possible().iter().collect();
    cpus.sort_by_cached_key(|cpu| {
        let node = machine.node_of(*cpu).unwrap_or(u32::MAX);
        let cache = machine.llc_of(*cpu).map_or(usize::MAX, |domain| domain.index());
        (node, cache, machine.core_of(*cpu), *cpu)
    });
    cpus
}
