//! The order of CPUs in which those that share a cache are neighbours.

use super::mask::try_slice;
use crate::cpu::CpuId;
use crate::error::AllocError;
use crate::sys::topology::Topology;
use alloc::boxed::Box;

/// The possible CPUs of a machine: those that share a last-level cache side by side, in it the
/// threads of a core side by side. Where the system does not say, by node, then by id.
pub(super) fn of_topology(machine: &Topology) -> Result<Box<[CpuId]>, AllocError> {
    let mut possible = machine.possible().iter();
    let next = |_| Ok(possible.next().expect("a set has as many CPUs as it says"));
    let mut cpus = try_slice(machine.possible().len(), next)?;
    // In place: keys are looked up again and again, and nothing more is taken from the heap.
    cpus.sort_unstable_by_key(|cpu| {
        let node = machine.node_of(*cpu).unwrap_or(u32::MAX);
        let cache = machine.llc_of(*cpu).map_or(usize::MAX, |domain| domain.index());
        (node, cache, machine.core_of(*cpu), *cpu)
    });
    Ok(cpus)
}
