//! A machine's files with anything in them.

use crate::files::{pieces, write};
use crate::memory::within;
use corelocal::sys::{MAX_CPUS, Topology};

/// Each piece of the input is one of these files, in this order.
const FILES: [&str; 14] = [
    "cpu/possible",
    "cpu/online",
    "cpu/present",
    "node/online",
    "node/has_memory",
    "node/node0/cpulist",
    "node/node0/meminfo",
    "node/node0/distance",
    "node/node1/cpumap",
    "node/node1/meminfo",
    "cpu/cpu0/topology/core_id",
    "cpu/cpu0/topology/physical_package_id",
    "cpu/cpu0/cache/index0/level",
    "cpu/cpu0/cache/index0/shared_cpu_list",
];

/// Writes the pieces of `input` to a directory that stands for `/`, and asks everything of it.
///
/// # Panics
///
/// If an answer is outside of its bounds, or more than 64 times the input and 4 MiB are taken from the
/// heap (a table by CPU, for 65536 of them, is most of it).
pub fn topology(input: &[u8]) {
    let root = tempfile::tempdir().expect("a directory for a machine");
    for (file, text) in pieces(&FILES, input) {
        write(&root.path().join("sys/devices/system").join(file), text);
    }
    within(input.len(), 64, 4 << 20, || ask(&Topology::from_root(root.path())));
}

fn ask(topology: &Topology) {
    let cpus = topology.cpus();
    assert!((1..=MAX_CPUS).contains(&cpus), "{cpus} CPUs");
    assert!(topology.possible().id_bound().min(MAX_CPUS as usize) <= cpus as usize);
    let nodes = topology.nodes();
    for node in &nodes {
        let _ = topology.node_cpus(*node);
    }
    for id in [0, 1, 2, 63, 64, 1023, 1024, cpus - 1, cpus, MAX_CPUS, u32::MAX] {
        let cpu = id.into();
        let at = topology.node_of(cpu);
        assert!(at.is_none_or(|node| nodes.contains(&node)), "CPU {id} at {at:?} of {nodes:?}");
        let _ = (topology.memory_node_of(cpu), topology.core_of(cpu), topology.llc_of(cpu));
        if let Some(siblings) = topology.smt_siblings(cpu) {
            assert!(siblings.contains(cpu), "CPU {id} among its own siblings");
        }
    }
    let _ = (topology.online(), topology.allowed(), topology.cache_line());
    assert!(topology.issues().all(|issue| !issue.to_string().is_empty()));
}
