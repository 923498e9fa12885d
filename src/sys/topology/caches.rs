//! Which CPUs share their last-level cache, and how large a line is.

use super::CPU_DIRECTORY;
use super::Topology;
use super::files::Files;
use super::issue::{TopologyIssue, TopologyIssueKind};
use crate::cpu::{CpuId, CpuMask};
use std::path::Path;

/// More caches than a CPU has.
const MAX_CACHES: usize = 16;

/// The CPUs that share one last-level cache.
///
/// Often finer than a node: one memory node can have several such caches, and a
/// line that stays within one moves several times faster.
///
/// ```
/// use corelocal::sys::topology::{CacheDomain, Topology};
///
/// /// Workers that hand work to each other, a group for each cache.
/// fn groups(caches: &[CacheDomain]) -> Vec<String> {
///     caches.iter().map(|cache| format!("L{}: CPUs {}", cache.level(), cache.cpus())).collect()
/// }
/// let caches = Topology::current().llc_domains();
/// assert_eq!(groups(caches).len(), caches.len());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheDomain {
    index: usize,
    level: u32,
    cpus: CpuMask,
}

impl CacheDomain {
    /// Its number among the machine's domains, counted from 0 in the order of
    /// their lowest CPUs.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::current();
    /// let mut load = vec![0; machine.llc_domains().len()]; // by cache
    /// if let Some(cache) = machine.possible().first().and_then(|cpu| machine.llc_of(cpu)) {
    ///     load[cache.index()] += 1;
    /// }
    /// assert!(load.iter().sum::<i32>() <= 1);
    /// ```
    pub fn index(&self) -> usize {
        self.index
    }

    /// The level of the shared cache: 3 for an L3.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// // Small machines share a second level, large ones a third.
    /// let levels: Vec<u32> = Topology::current().llc_domains().iter().map(|cache| cache.level()).collect();
    /// println!("{levels:?}");
    /// assert!(levels.iter().all(|level| *level >= 1));
    /// ```
    pub fn level(&self) -> u32 {
        self.level
    }

    /// The CPUs that share it.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// // No CPU has two last-level caches.
    /// let caches = Topology::current().llc_domains();
    /// for (index, cache) in caches.iter().enumerate() {
    ///     assert!(caches[..index].iter().all(|other| other.cpus().is_disjoint(cache.cpus())));
    /// }
    /// ```
    pub fn cpus(&self) -> &CpuMask {
        &self.cpus
    }
}

/// Which CPUs share a cache.
impl Topology {
    /// The CPUs that share `cpu`'s last-level cache; `None` where the system does not
    /// say, or has no such CPU at present.
    ///
    /// ```
    /// # use corelocal::{CpuId, Topology};
    /// let machine = Topology::current();
    /// /// Whether a line goes from one to the other without leaving a cache.
    /// let is_near = |a: CpuId, b: CpuId| machine.llc_of(a).is_some_and(|cache| cache.cpus().contains(b));
    /// let near = machine.possible().iter().filter(|cpu| is_near(*cpu, *cpu)).count();
    /// assert!(near <= machine.possible().len());
    /// ```
    pub fn llc_of(&self, cpu: CpuId) -> Option<&CacheDomain> {
        self.read_caches().of(cpu)
    }

    /// All last-level caches; empty where the system does not say.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::current();
    /// // A shard for each cache; a single one where the system does not say.
    /// let shards = machine.llc_domains().len().max(1);
    /// assert!(shards <= machine.possible().len().max(1));
    /// ```
    pub fn llc_domains(&self) -> &[CacheDomain] {
        &self.read_caches().domains
    }

    /// The size in bytes of this machine's cache lines, the largest of those that its caches have;
    /// `None` where the system does not say.
    ///
    /// One CPU of each last-level cache is asked. Compare it with what the build assumes by
    /// [`LineWarning::for_line`](../../cacheline/struct.LineWarning.html#method.for_line).
    ///
    /// ```
    /// # use corelocal::{Topology, cacheline::LineWarning};
    /// if let Some(line) = Topology::current().cache_line() {
    ///     assert!(line.is_power_of_two());
    ///     LineWarning::for_line(line).into_iter().for_each(|warning| eprintln!("{warning}"));
    /// }
    /// ```
    pub fn cache_line(&self) -> Option<usize> {
        self.read_caches().line
    }
}

/// What the cache directories said.
pub(super) struct Caches {
    pub(super) domains: Vec<CacheDomain>,
    /// The largest line of the caches that were read.
    pub(super) line: Option<usize>,
    pub(super) issues: Vec<TopologyIssue>,
}

impl Caches {
    /// Reads one CPU of each domain; the others are known from its list.
    pub(super) fn read(root: &Path) -> Self {
        let mut files = Files::new(root);
        let mut domains = Vec::new();
        let mut line = None;
        let mut seen = CpuMask::new();
        for id in files.numbered_entries(CPU_DIRECTORY, "cpu") {
            let cpu = CpuId::new(id);
            if seen.contains(cpu) {
                continue;
            }
            let caches = format!("{CPU_DIRECTORY}/cpu{cpu}/cache");
            let mut indices = files.numbered_entries(&caches, "index");
            indices.truncate(MAX_CACHES);
            line = line.max(largest_line(&mut files, &caches, &indices));
            let last = last_level(&mut files, cpu, &caches, &indices, &seen);
            let Some((level, cpus)) = last else { continue };
            seen |= &cpus;
            domains.push(CacheDomain { index: domains.len(), level, cpus });
        }
        Self { domains, line, issues: files.into_issues() }
    }

    pub(super) fn of(&self, cpu: CpuId) -> Option<&CacheDomain> {
        self.domains.iter().find(|domain| domain.cpus.contains(cpu))
    }
}

/// Larger than any line there is: what is beyond is no line's size.
const MAX_LINE: usize = 4096;

/// The largest line of a CPU's caches; the file need not be there.
fn largest_line(files: &mut Files<'_>, caches: &str, indices: &[u32]) -> Option<usize> {
    let lines = indices.iter().filter_map(|index| {
        let line = files.optional_number(&format!("{caches}/index{index}/coherency_line_size"));
        line.and_then(|line| usize::try_from(line).ok())
    });
    lines.filter(|line| line.is_power_of_two() && *line <= MAX_LINE).max()
}

/// The level of the last cache of `cpu`, and who shares it; always with `cpu`,
/// never with a CPU that was `seen` in another domain.
fn last_level(
    files: &mut Files<'_>,
    cpu: CpuId,
    caches: &str,
    indices: &[u32],
    seen: &CpuMask,
) -> Option<(u32, CpuMask)> {
    let mut best: Option<(u32, u32)> = None;
    for &index in indices {
        let level = files.number(&format!("{caches}/index{index}/level"));
        let Some(level) = level.and_then(|level| u32::try_from(level).ok()) else { continue };
        // The first of equals: data comes before instructions.
        if best.is_none_or(|(highest, _)| level > highest) {
            best = Some((level, index));
        }
    }
    let (level, index) = best?;
    let name = format!("{caches}/index{index}/shared_cpu_list");
    let listed = files.filled_list(&name);
    let mut cpus =
        listed.or_else(|| files.hex_map(&format!("{caches}/index{index}/shared_cpu_map")))?;
    if let Some(twice) = (&cpus & seen).first() {
        files.note(&name, TopologyIssueKind::CountedTwice(twice));
        cpus -= seen;
    }
    if cpus.insert(cpu) {
        files.note(&name, TopologyIssueKind::Omits(cpu));
    }
    Some((level, cpus))
}
