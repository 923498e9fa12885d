//! [`Hierarchy`]: private caches for each core, a last level for all, and what missed where.

use crate::{Cache, Geometry, Params};
use std::ops::{Add, AddAssign};

/// What an access does to its line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
}

/// Where the search for a line ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// The core's first level.
    L1,
    /// The core's second level.
    L2,
    /// The last level, which all cores share.
    Shared,
    /// No cache had it.
    Memory,
}

/// Hits and misses of one level.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Reads that found their line.
    pub read_hits: u64,
    /// Reads that did not.
    pub read_misses: u64,
    /// Writes that found their line.
    pub write_hits: u64,
    /// Writes that did not.
    pub write_misses: u64,
}

impl Counts {
    /// Accesses that found their line.
    pub fn hits(&self) -> u64 {
        self.read_hits + self.write_hits
    }

    /// Accesses that did not.
    pub fn misses(&self) -> u64 {
        self.read_misses + self.write_misses
    }

    /// Accesses that came to this level.
    pub fn accesses(&self) -> u64 {
        self.hits() + self.misses()
    }

    fn count(&mut self, access: Access, hit: bool) {
        let count = match (access, hit) {
            (Access::Read, true) => &mut self.read_hits,
            (Access::Read, false) => &mut self.read_misses,
            (Access::Write, true) => &mut self.write_hits,
            (Access::Write, false) => &mut self.write_misses,
        };
        *count += 1;
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            read_hits: self.read_hits + other.read_hits,
            read_misses: self.read_misses + other.read_misses,
            write_hits: self.write_hits + other.write_hits,
            write_misses: self.write_misses + other.write_misses,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// What one core's accesses met, level by level.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// The first level.
    pub l1: Counts,
    /// The second level: what missed the first.
    pub l2: Counts,
    /// The last level: what missed the second.
    pub shared: Counts,
}

impl Stats {
    /// Accesses that went to memory.
    pub fn from_memory(&self) -> u64 {
        self.shared.misses()
    }
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.l1 += other.l1;
        self.l2 += other.l2;
        self.shared += other.shared;
    }
}

/// One core's caches.
#[derive(Clone, Debug)]
struct Core {
    l1: Cache,
    l2: Cache,
    stats: Stats,
}

/// A machine's caches.
///
/// A miss fills every level it went through (writes too: write-allocate). Levels replace on their
/// own: a line that leaves the last level stays in the private ones, and the other way round
/// (neither inclusive nor exclusive). Writing back is not modelled, and neither is coherence.
///
/// ```
/// use model::{Access::Read, Hierarchy, Level, Params};
///
/// let mut machine = Hierarchy::new(&Params::parse("cores 2")?);
/// assert_eq!(machine.access(0, 0x1000, Read), Level::Memory);
/// assert_eq!(machine.access(0, 0x103f, Read), Level::L1); // the same line
/// assert_eq!(machine.access(1, 0x1000, Read), Level::Shared); // the other core's first
/// assert_eq!(machine.stats(1).shared.hits(), 1);
/// # Ok::<(), model::ParamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hierarchy {
    line: Geometry,
    cores: Vec<Core>,
    shared: Cache,
}

impl Hierarchy {
    /// A machine with empty caches.
    pub fn new(params: &Params) -> Self {
        let core =
            Core { l1: Cache::new(params.l1), l2: Cache::new(params.l2), stats: Stats::default() };
        let shared = Cache::new(params.shared);
        Self { line: params.l1, cores: vec![core; params.cores], shared }
    }

    /// Cores.
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// One access of `core` to the line that the byte at `address` lies in. Where it was found.
    ///
    /// # Panics
    ///
    /// If there is no such core.
    pub fn access(&mut self, core: usize, address: u64, access: Access) -> Level {
        let line = self.line.line_of(address);
        let there = self.cores.len();
        let Some(core) = self.cores.get_mut(core) else {
            panic!("core {core} of {there}");
        };
        if core.stats.l1.look(&mut core.l1, line, access) {
            return Level::L1;
        }
        if core.stats.l2.look(&mut core.l2, line, access) {
            return Level::L2;
        }
        if core.stats.shared.look(&mut self.shared, line, access) {
            return Level::Shared;
        }
        Level::Memory
    }

    /// One access to each line that `bytes` bytes from `address` on lie in, in ascending order.
    ///
    /// # Panics
    ///
    /// As [`Hierarchy::access`].
    pub fn access_range(&mut self, core: usize, address: u64, bytes: u64, access: Access) {
        if bytes == 0 {
            return;
        }
        let size = self.line.line() as u64;
        for line in self.line.line_of(address)..=self.line.line_of(address + bytes - 1) {
            self.access(core, line * size, access);
        }
    }

    /// What one core's accesses met since the last reset.
    ///
    /// # Panics
    ///
    /// If there is no such core.
    pub fn stats(&self, core: usize) -> Stats {
        self.cores[core].stats
    }

    /// What all accesses met since the last reset.
    pub fn total(&self) -> Stats {
        let mut total = Stats::default();
        self.cores.iter().for_each(|core| total += core.stats);
        total
    }

    /// Empties the private caches of all cores, as if other data had taken every place there. The
    /// last level keeps what it has, and the counts go on.
    pub fn sweep_private(&mut self) {
        for core in &mut self.cores {
            core.l1.clear();
            core.l2.clear();
        }
    }

    /// Forgets the counts and keeps the caches: what was done so far was warming up.
    pub fn reset_stats(&mut self) {
        for core in &mut self.cores {
            core.stats = Stats::default();
        }
    }
}

impl Counts {
    /// Looks for a line in this level's cache, counts, and fills it on a miss.
    fn look(&mut self, cache: &mut Cache, line: u64, access: Access) -> bool {
        let hit = cache.get(line).is_some();
        self.count(access, hit);
        if !hit {
            cache.insert(line, ());
        }
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Read, Write};

    /// Two cores; L1 of 2 lines in one set, L2 of 4 in two, a last level of 8 in four.
    fn machine() -> Hierarchy {
        Hierarchy::new(&Params::parse("cores 2\nl1 128 2\nl2 256 2\nshared 512 2").unwrap())
    }

    #[test]
    fn three_lines_by_hand() {
        let mut machine = machine();
        let mut at = |line: u64, access| machine.access(0, line * 64, access);
        assert_eq!(at(0, Read), Level::Memory);
        assert_eq!(at(1, Write), Level::Memory);
        assert_eq!(at(2, Read), Level::Memory); // L1: 1 2; L2: 0 2 and 1
        assert_eq!(at(0, Write), Level::L2); // L1: 2 0
        assert_eq!(at(2, Read), Level::L1); // L1: 0 2; L2 was not asked: it still has 0 as newest
        assert_eq!(at(4, Read), Level::Memory); // L1: 2 4; L2 set 0: 0 4, so 2 went
        assert_eq!(at(6, Read), Level::Memory); // L1: 4 6; L2 set 0: 4 6
        assert_eq!(at(2, Write), Level::Shared); // sets of the last level: 0 4, 1, 2 6
        let stats = machine.stats(0);
        let counts = |read_hits, read_misses, write_hits, write_misses| Counts {
            read_hits,
            read_misses,
            write_hits,
            write_misses,
        };
        assert_eq!(stats.l1, counts(1, 4, 0, 3));
        assert_eq!(stats.l2, counts(0, 4, 1, 2));
        assert_eq!(stats.shared, counts(0, 4, 1, 1));
        assert_eq!((stats.from_memory(), machine.stats(1)), (5, Stats::default()));
    }

    #[test]
    fn private_caches_are_private_and_the_last_level_is_not() {
        let mut machine = machine();
        assert_eq!(machine.access(0, 0, Write), Level::Memory);
        assert_eq!(machine.access(1, 0, Read), Level::Shared);
        // No coherence: core 1's write leaves core 0's copy as it is.
        assert_eq!(machine.access(1, 0, Write), Level::L1);
        assert_eq!(machine.access(0, 0, Read), Level::L1);
        assert_eq!(machine.total().l1.accesses(), 4);
        assert_eq!((machine.total().l1.hits(), machine.total().l1.misses()), (2, 2));
    }

    #[test]
    fn after_a_sweep_only_the_last_level_has_its_lines() {
        let mut machine = machine();
        machine.access(0, 0, Read);
        machine.access(1, 64, Write);
        machine.sweep_private();
        assert_eq!(machine.total().l1.accesses(), 2);
        assert_eq!(machine.access(0, 0, Read), Level::Shared);
        assert_eq!(machine.access(1, 64, Read), Level::Shared);
    }

    #[test]
    fn a_range_touches_each_of_its_lines_once() {
        let mut machine = machine();
        machine.access_range(0, 60, 10, Read); // lines 0 and 1
        machine.access_range(0, 128, 64, Read); // line 2
        machine.access_range(0, 128, 0, Read);
        assert_eq!(machine.stats(0).l1.accesses(), 3);
        machine.reset_stats();
        assert_eq!(machine.total(), Stats::default());
        assert_eq!(machine.access(0, 128, Read), Level::L1);
    }

    #[test]
    #[should_panic(expected = "core 2 of 2")]
    fn a_core_that_is_not_there_is_named() {
        machine().access(2, 0, Read);
    }
}
