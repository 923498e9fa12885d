//! Memory nodes: which CPUs they have, and where a CPU's memory comes from.

use super::Topology;
use super::files::Files;
use super::issue::{TopologyIssue, TopologyIssueKind};
use crate::cpu::{CpuId, CpuMask};
use std::path::Path;

const DIRECTORY: &str = "sys/devices/system/node";

/// The most nodes that Linux can be built for.
const MAX_NODES: usize = 1024;

/// Which nodes there are, and where a CPU belongs.
impl Topology {
    /// The memory nodes' ids, ascending; they can have gaps. Only node 0 where the
    /// system does not know nodes.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::current();
    /// for node in machine.nodes() {
    ///     println!("node {node}: CPUs {:?}", machine.node_cpus(node).map(|cpus| cpus.to_string()));
    /// }
    /// assert!(machine.nodes().is_sorted());
    /// ```
    pub fn nodes(&self) -> Vec<u32> {
        let nodes = self.read_nodes();
        if nodes.known() { nodes.ids().collect() } else { vec![0] }
    }

    /// Whether there are nodes to choose from; unlike the length of [`Topology::nodes`], without
    /// asking the heap.
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "a model has no placement"))]
    pub(crate) fn has_nodes(&self) -> bool {
        self.read_nodes().ids().nth(1).is_some()
    }

    /// The CPUs of a node, none for a node of memory only; `None` if there is no
    /// such node.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::current();
    /// // Nodes of memory only have no CPUs to start threads on.
    /// let with_cpus = machine.nodes().into_iter().filter(|node| {
    ///     machine.node_cpus(*node).is_some_and(|cpus| !cpus.is_empty())
    /// });
    /// assert!(with_cpus.count() <= machine.nodes().len());
    /// assert_eq!(machine.node_cpus(u32::MAX), None);
    /// ```
    pub fn node_cpus(&self, node: u32) -> Option<&CpuMask> {
        let nodes = self.read_nodes();
        if nodes.known() { nodes.cpus(node) } else { (node == 0).then_some(&self.possible) }
    }

    /// The node that `cpu` belongs to; `None` if no node lists it, as for a CPU that
    /// is possible but absent. Node 0 where the system does not know nodes.
    ///
    /// ```
    /// # use corelocal::{CpuId, Topology};
    /// let machine = Topology::current();
    /// if let Some(node) = CpuId::current().and_then(|cpu| machine.node_of(cpu)) {
    ///     println!("this thread is on node {node}");
    ///     assert!(machine.nodes().contains(&node));
    /// }
    /// ```
    pub fn node_of(&self, cpu: CpuId) -> Option<u32> {
        let nodes = self.read_nodes();
        if nodes.known() { nodes.of(cpu) } else { self.possible.contains(cpu).then_some(0) }
    }

    /// The node that memory for `cpu` should come from: its own, or if that has no
    /// memory the nearest that has (the lowest-numbered, where distances are not
    /// known). `None` as for [`node_of`](Self::node_of), and where no node has memory.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::current();
    /// for cpu in machine.possible() {
    ///     let home = machine.memory_node_of(cpu);
    ///     assert!(home.is_none_or(|node| machine.nodes().contains(&node))); // where its memory should lie
    /// }
    /// ```
    pub fn memory_node_of(&self, cpu: CpuId) -> Option<u32> {
        let nodes = self.read_nodes();
        if nodes.known() { nodes.memory_of(cpu) } else { self.node_of(cpu) }
    }
}

/// What the node directory said.
pub(super) struct Nodes {
    /// Ascending by id; empty where the system does not know nodes.
    nodes: Vec<Node>,
    pub(super) issues: Vec<TopologyIssue>,
}

struct Node {
    id: u32,
    cpus: CpuMask,
    /// The node that its CPUs' memory comes from; itself where it has memory.
    memory: Option<u32>,
}

impl Nodes {
    pub(super) fn read(root: &Path) -> Self {
        let mut files = Files::new(root);
        let ids = node_ids(&mut files);
        let with_memory = nodes_with_memory(&mut files, &ids);
        let mut seen = CpuMask::new();
        let nodes = ids
            .iter()
            .map(|id| Node {
                id: *id,
                cpus: cpus_of(&mut files, *id, &mut seen),
                memory: memory_for(&mut files, *id, &ids, &with_memory),
            })
            .collect();
        Self { nodes, issues: files.into_issues() }
    }

    /// Whether the system knows nodes at all.
    pub(super) fn known(&self) -> bool {
        !self.nodes.is_empty()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().map(|node| node.id)
    }

    pub(super) fn cpus(&self, id: u32) -> Option<&CpuMask> {
        let at = self.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
        Some(&self.nodes[at].cpus)
    }

    pub(super) fn of(&self, cpu: CpuId) -> Option<u32> {
        self.node(cpu).map(|node| node.id)
    }

    pub(super) fn memory_of(&self, cpu: CpuId) -> Option<u32> {
        self.node(cpu)?.memory
    }

    fn node(&self, cpu: CpuId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.cpus.contains(cpu))
    }
}

/// The online nodes; where that file is of no use, the directories there are.
fn node_ids(files: &mut Files<'_>) -> Vec<u32> {
    let online = files.filled_list(&format!("{DIRECTORY}/online"));
    let mut ids = match online {
        Some(online) => online.iter().map(CpuId::get).collect(),
        None => files.numbered_entries(DIRECTORY, "node"),
    };
    if ids.len() > MAX_NODES {
        ids.truncate(MAX_NODES);
        files.note(DIRECTORY, TopologyIssueKind::TooManyNodes { used: MAX_NODES });
    }
    ids
}

/// The CPUs of a node that no earlier node claimed.
fn cpus_of(files: &mut Files<'_>, id: u32, seen: &mut CpuMask) -> CpuMask {
    let name = format!("{DIRECTORY}/node{id}/cpulist");
    let listed = files.list(&name);
    let mapped = listed.or_else(|| files.hex_map(&format!("{DIRECTORY}/node{id}/cpumap")));
    let mut cpus = mapped.unwrap_or_default();
    if let Some(twice) = (&cpus & seen).first() {
        files.note(&name, TopologyIssueKind::CountedTwice(twice));
        cpus -= seen;
    }
    *seen |= &cpus;
    cpus
}

/// The nodes that have memory: one file says it for all, else each node's own.
/// A node that says nothing is taken to have some.
fn nodes_with_memory(files: &mut Files<'_>, ids: &[u32]) -> Vec<u32> {
    if ids.is_empty() {
        return Vec::new();
    }
    if let Some(listed) = files.filled_list(&format!("{DIRECTORY}/has_memory")) {
        return ids.iter().copied().filter(|id| listed.contains(CpuId::new(*id))).collect();
    }
    let mut has_some = |id: &u32| {
        let name = format!("{DIRECTORY}/node{id}/meminfo");
        let Some(text) = files.bytes(&name) else { return true };
        let total = memory_total(&text);
        if total.is_none() {
            files.note(&name, TopologyIssueKind::NotANumber);
        }
        total != Some(0)
    };
    ids.iter().copied().filter(|id| has_some(id)).collect()
}

/// The number behind `MemTotal:`.
fn memory_total(text: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(text).ok()?;
    let (_, behind) = text.split_once("MemTotal:")?;
    behind.split_ascii_whitespace().next()?.parse().ok()
}

/// Where the memory of a node's CPUs comes from: the node itself, else the nearest
/// one that has memory, else (no distances) the first one that has.
fn memory_for(files: &mut Files<'_>, id: u32, ids: &[u32], with_memory: &[u32]) -> Option<u32> {
    if with_memory.contains(&id) || with_memory.len() < 2 {
        return with_memory
            .iter()
            .copied()
            .find(|node| *node == id)
            .or(with_memory.first().copied());
    }
    let name = format!("{DIRECTORY}/node{id}/distance");
    let distances = files.bytes(&name).and_then(|text| {
        let distances = distances(&text).filter(|distances| distances.len() == ids.len());
        if distances.is_none() {
            files.note(&name, TopologyIssueKind::NotANumber);
        }
        distances
    });
    let Some(distances) = distances else { return with_memory.first().copied() };
    let near = ids.iter().zip(distances).filter(|(node, _)| with_memory.contains(node));
    near.min_by_key(|(_, distance)| *distance).map(|(node, _)| *node)
}

/// One distance for each online node, in the order of their ids.
fn distances(text: &[u8]) -> Option<Vec<u32>> {
    let text = core::str::from_utf8(text).ok()?;
    text.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
}
