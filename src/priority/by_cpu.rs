//! The layout with a byte a CPU: no counts, no masks, and nothing that two CPUs write.

use super::error::OrderError;
use super::map::{Map, Piece};
use super::mask::try_slice;
use super::registry::Registry;
use super::table::{Field, Layout, Part, Place, Table, sealed};
use super::value::NOWHERE;
use super::word::{Word, Words};
use crate::bytes;
use crate::cacheline::CacheLine;
use crate::cpu::{CpuId, CpuMask};
use crate::sync::fence_after_rmw;
use alloc::boxed::Box;
use alloc::format;

/// One byte a CPU, in the order that the vector was made with, `K` CPUs a shard; a shard has a
/// cache line of its own. `K` is 8, 16, 24, ... or 64.
///
/// A change is one atomic read-modify-write in the CPU's shard, a search reads each shard that its
/// mask meets. So CPUs that share a cache should share a shard: that is what the order is for.
/// Smaller shards are shared by fewer CPUs, and searches over all CPUs read more of them.
#[derive(Clone, Copy, Debug)]
pub struct ByCpu<const K: usize = 64>;

/// CPUs in a word.
const LANES: usize = 8;
/// Words in a shard's line.
const WORDS: usize = 8;
/// Lanes in two words, which are compared at once.
const PAIR: usize = 2 * LANES;
/// A word of CPUs that are at no level.
const NOBODY: u64 = u64::from_le_bytes([NOWHERE; LANES]);

/// [`ByCpu`]'s words.
#[doc(hidden)]
#[derive(Debug)]
pub struct Lanes<const K: usize, const LEVELS: usize, W: Words> {
    shards: Box<[CacheLine<[W::U64; WORDS]>]>,
    map: Map,
    registry: Registry,
}

impl<const K: usize> sealed::Sealed for ByCpu<K> {}
impl<const K: usize> Layout for ByCpu<K> {
    const NAME: &'static str = "ByCpu";
    type Table<const LEVELS: usize, W: Words> = Lanes<K, LEVELS, W>;
}

/// The lowest level that a search has met, and who was there.
trait Best {
    /// `lanes` of `piece` are at a lower level than all before them.
    fn lower(&mut self, piece: &Piece, lanes: u64);
    /// `lanes` of `piece` are at the level of the best so far.
    fn equal(&mut self, piece: &Piece, lanes: u64);
}

impl Best for &mut CpuMask {
    #[inline(always)]
    fn lower(&mut self, piece: &Piece, lanes: u64) {
        self.clear();
        self.equal(piece, lanes);
    }

    #[inline(always)]
    fn equal(&mut self, piece: &Piece, lanes: u64) {
        self.insert_word(piece.word(), piece.cpus(lanes));
    }
}

/// One of the best; `near` before others of its piece.
struct One {
    near: CpuId,
    found: Option<CpuId>,
}

impl Best for One {
    fn lower(&mut self, piece: &Piece, lanes: u64) {
        self.found = Some(piece.cpu(lanes.trailing_zeros()));
        self.equal(piece, lanes);
    }

    fn equal(&mut self, piece: &Piece, lanes: u64) {
        // CPU `near` is worth the same and nearer.
        let near_bit = 1_u64.rotate_left(self.near.get());
        let is_near = piece.word() == self.near.index() / 64 && piece.cpus(lanes) & near_bit != 0;
        if is_near {
            self.found = Some(self.near);
        }
    }
}

/// The lowest level so far.
#[derive(Clone, Copy)]
struct Lowest {
    /// `limit` while nobody was found.
    best: u8,
    /// Levels from here on are not looked for.
    limit: u8,
}

impl Lowest {
    fn below(levels: usize) -> Self {
        // Levels are bytes below 127.
        Self { best: levels as u8, limit: levels as u8 }
    }

    fn level(self) -> Option<usize> {
        (self.best < self.limit).then_some(self.best.into())
    }
}

impl<const K: usize, const LEVELS: usize, W: Words> Lanes<K, LEVELS, W> {
    /// Reads the lanes of `piece` among `lanes`, each once, and adds to `found` those of them that
    /// `fits` keeps and that are not above the lowest level so far.
    #[inline(always)]
    fn scan(
        &self,
        piece: &Piece,
        lanes: u64,
        lowest: &mut Lowest,
        found: &mut impl Best,
        mut fits: impl FnMut(&Piece, u64) -> u64,
    ) {
        let shard = &self.shards[usize::from(piece.shard)];
        for pair in 0..WORDS / 2 {
            let shift = pair * PAIR;
            let wanted = lanes >> shift & 0xffff;
            if wanted == 0 {
                continue;
            }
            let words = [shard[2 * pair].load(), shard[2 * pair + 1].load()];
            let mut lower = bytes::below(&words, lowest.best) & wanted;
            if lower != 0 {
                lower = fits(piece, lower << shift) >> shift;
            }
            if lower != 0 {
                let (level, lanes) = least(&words, lower);
                lowest.best = level;
                found.lower(piece, lanes << shift);
            } else if lowest.best < lowest.limit {
                let equal = bytes::equal(&words, lowest.best) & wanted;
                if equal != 0 {
                    found.equal(piece, fits(piece, equal << shift));
                }
            }
        }
    }

    /// Reads every allowed lane once, in the order of ids.
    #[inline(always)]
    fn search(
        &self,
        below: usize,
        allowed: &[u64],
        mut found: &mut CpuMask,
        mut fits: impl FnMut(&Piece, u64) -> u64,
    ) -> Option<usize> {
        found.clear();
        let mut lowest = Lowest::below(below.min(LEVELS));
        for (at, allowed) in allowed.iter().enumerate() {
            if *allowed == 0 {
                continue;
            }
            for piece in self.map.of_word(at) {
                let lanes = piece.lanes(*allowed);
                if lanes != 0 {
                    self.scan(piece, lanes, &mut lowest, &mut found, &mut fits);
                }
            }
        }
        lowest.level()
    }
}

/// Those of `lanes` that `holds` says yes to.
#[inline(always)]
fn keep(lanes: u64, mut holds: impl FnMut(u32) -> bool) -> u64 {
    let mut left = lanes;
    let mut kept = 0;
    while left != 0 {
        let lane = left.trailing_zeros();
        left &= left - 1;
        kept |= u64::from(holds(lane)) << lane;
    }
    kept
}

/// The least of the bytes that `lanes` names, and those of them that are equal to it.
#[inline(always)]
fn least(words: &[u64; 2], lanes: u64) -> (u8, u64) {
    let mut left = lanes;
    let mut level = 0;
    // Each round takes away half of what is left, on the average; sixteen rounds at most.
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        level = (words[lane / LANES] >> (LANES * (lane % LANES))) as u8;
        left &= bytes::below(words, level);
    }
    (level, bytes::equal(words, level) & lanes)
}

impl<const K: usize, const LEVELS: usize, W: Words> Table<W> for Lanes<K, LEVELS, W> {
    fn try_new(order: &[CpuId]) -> Result<Self, OrderError> {
        const { assert!(K >= 8 && K <= 64 && K % 8 == 0, "K is 8, 16, 24, ... or 64") };
        let registry = Registry::try_new(order)?;
        let map = Map::try_new(order, K)?;
        let nobody = || CacheLine::new(core::array::from_fn(|_| W::U64::new(NOBODY)));
        let shards = try_slice(map.shards(), |_| Ok(nobody()))?;
        Ok(Self { shards, map, registry })
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn place(&self, cpu: CpuId) -> Place {
        let (shard, lane) = self.map.place(cpu).expect("a CPU of the vector has a lane");
        Place { cpu, shard: shard.into(), lane, level: NOWHERE }
    }

    #[inline]
    fn set(&self, place: &mut Place, level: u8) {
        if place.level == level {
            return;
        }
        let lane = usize::from(place.lane);
        let change = u64::from(place.level ^ level) << (LANES * (lane % LANES));
        // The lane has one writer, who knows what it holds: this changes its byte and no other.
        self.shards[place.shard as usize][lane / LANES].xor(change);
        // The level, then what the caller reads next. [E32]
        fence_after_rmw();
        place.level = level;
    }

    fn find(&self, below: usize, allowed: &[u64], found: &mut CpuMask) -> Option<usize> {
        self.search(below, allowed, found, |_, lanes| lanes)
    }

    fn find_fit(
        &self,
        below: usize,
        allowed: &[u64],
        fits: &mut dyn FnMut(CpuId) -> bool,
        found: &mut CpuMask,
    ) -> Option<usize> {
        self.search(below, allowed, found, |piece, lanes| keep(lanes, |lane| fits(piece.cpu(lane))))
    }

    fn find_any(&self, below: usize, allowed: &[u64], near: CpuId) -> Option<(CpuId, usize)> {
        let mut lowest = Lowest::below(below.min(LEVELS));
        let mut one = One { near, found: None };
        let first = self.map.place(near).map_or(0, |(shard, _)| usize::from(shard));
        let shards = self.map.shards();
        for shard in (first..shards).chain(0..first) {
            for piece in self.map.of_shard(shard) {
                let lanes = piece.lanes(allowed.get(piece.word()).copied().unwrap_or(0));
                self.scan(piece, lanes, &mut lowest, &mut one, |_, lanes| lanes);
            }
            if lowest.level() == Some(0) {
                break; // Nobody is lower.
            }
        }
        Some((one.found?, lowest.level()?))
    }

    fn count(&self, level: u8) -> usize {
        let words = self.shards.iter().flat_map(|shard| shard.chunks_exact(2));
        let equal = words.map(|pair| bytes::equal(&[pair[0].load(), pair[1].load()], level));
        let count: usize = equal.map(|equal| equal.count_ones() as usize).sum();
        // Lanes without a CPU are at no level.
        let unused = self.shards.len() * WORDS * LANES - self.registry.len();
        if level == NOWHERE { count - unused } else { count }
    }

    fn fields(&self, tell: &mut dyn FnMut(Field)) {
        tell(Field::of(Part::Bookkeeping, "vector".into(), self));
        for (at, shard) in self.shards.iter().enumerate() {
            tell(Field::of(Part::Masks, format!("shard {at}"), shard));
        }
        for (name, address, bytes) in self.map.parts().into_iter().chain(self.registry.parts()) {
            tell(Field { name: name.into(), address, bytes, part: Part::Bookkeeping });
        }
    }
}
