//! What `Topology` should find in a machine that somebody asked for.

use corelocal::{CpuId, CpuMask, Topology};

/// A machine whose nodes, and whose last-level caches, have equal shares of the CPUs, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected {
    /// CPUs, from 0 on.
    pub cpus: u32,
    /// Nodes, from 0 on.
    pub nodes: u32,
    /// How many of them, the last ones, have no memory.
    pub memoryless: u32,
    /// Last-level caches; 0 if the system does not tell.
    pub caches: u32,
    /// CPUs go off and on, one at a time: each list may lack one.
    pub hotplug: bool,
}

impl Default for Expected {
    fn default() -> Self {
        Self { cpus: 0, nodes: 1, memoryless: 0, caches: 0, hotplug: false }
    }
}

impl Expected {
    /// Compares it with what was found.
    ///
    /// # Errors
    ///
    /// The first thing that is not as it was asked for.
    pub fn compare(self, topology: &Topology) -> Result<String, String> {
        let all = (0..self.cpus).map(CpuId::new).collect::<CpuMask>();
        if *topology.possible() != all {
            return Err(format!("possible are {}, not {all}", topology.possible()));
        }
        self.list("online", topology.online(), &all)?;
        let nodes: Vec<u32> = (0..self.nodes).collect();
        if topology.nodes() != nodes {
            return Err(format!("the nodes are {:?}, not {nodes:?}", topology.nodes()));
        }
        for node in nodes {
            let found = topology.node_cpus(node).ok_or(format!("node {node} is not there"))?;
            self.list(&format!("node {node}"), found, &self.share(node, self.nodes))?;
        }
        for cpu in topology.possible() {
            self.memory(topology, cpu)?;
        }
        self.caches(topology)?;
        let issue = topology.issues().next().filter(|_| !self.hotplug);
        issue.map_or(Ok(()), |issue| Err(format!("an issue: {issue}")))?;
        Ok(format!(
            "as asked for: {} CPUs, {} nodes ({} without memory), {} last-level caches",
            self.cpus, self.nodes, self.memoryless, self.caches
        ))
    }

    /// The CPUs of number `index` of `parts` equal parts.
    fn share(self, index: u32, parts: u32) -> CpuMask {
        let each = self.cpus.div_ceil(parts);
        (index * each..((index + 1) * each).min(self.cpus)).map(CpuId::new).collect()
    }

    fn list(self, what: &str, found: &CpuMask, right: &CpuMask) -> Result<(), String> {
        let off = right.len() - (found & right).len();
        if (found - right).is_empty() && off <= usize::from(self.hotplug) {
            Ok(())
        } else {
            Err(format!("{what}: {found}, not {right}"))
        }
    }

    fn memory(self, topology: &Topology, cpu: CpuId) -> Result<(), String> {
        // Nothing is known of a CPU that was off when the list was read.
        let Some(node) = topology.node_of(cpu) else { return Ok(()) };
        let with_memory = self.nodes - self.memoryless;
        match topology.memory_node_of(cpu) {
            Some(found) if found == node && node < with_memory => Ok(()),
            Some(found) if found < with_memory && node >= with_memory => Ok(()),
            found => Err(format!("memory of CPU {cpu} on node {node} is on {found:?}")),
        }
    }

    /// A list that lacked a CPU makes that one a domain of its own.
    fn caches(self, topology: &Topology) -> Result<(), String> {
        let domains = topology.llc_domains();
        if self.caches == 0 {
            return Ok(());
        }
        let each = self.cpus.div_ceil(self.caches);
        for domain in domains {
            let first = domain.cpus().first().ok_or("a cache of no CPU")?;
            let right = self.share(first.get() / each, self.caches);
            if *domain.cpus() != right && !(self.hotplug && (domain.cpus() - &right).is_empty()) {
                return Err(format!("a last-level cache of {}, not {right}", domain.cpus()));
            }
        }
        let (found, right) = (domains.len(), self.caches as usize);
        if found == right || self.hotplug && found > right {
            Ok(())
        } else {
            Err(format!("{found} last-level caches, not {right}"))
        }
    }
}
