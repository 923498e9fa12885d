//! The layout with a byte a CPU: no counts, no masks, and nothing that two CPUs write.

use super::error::OrderError;
use super::map::{Map, RowPart};
use super::mask::try_slice;
use super::registry::Registry;
use super::table::{Field, Layout, Part, Place, Table, sealed};
use super::value::NOWHERE;
use super::word::{Word, Words};
use crate::bytes::{self, Row};
use crate::cacheline::CacheLine;
use crate::cpu::{CpuId, CpuMask, clear_blocks};
use crate::error::AllocError;
use crate::sync::fence_after_rmw;
use alloc::boxed::Box;
use alloc::format;

/// One byte a CPU, in the order that the vector was made with, `K` CPUs a shard; a shard has a
/// cache line of its own. `K` is 8, 16, 24, ... or 64.
///
/// A change is one atomic read-modify-write in the CPU's shard, a search reads each shard that its
/// mask meets. So CPUs that share a cache should share a shard: that is what the order is for.
/// Smaller shards are shared by fewer CPUs, and searches over all CPUs read more of them.
///
/// ```
/// use corelocal::{ByCpu, CpuId, PriorityVec};
///
/// // Caches that eight CPUs share: shards of eight, in an order where these are neighbours.
/// let (caches, threads) = (4, 8);
/// let order = (0..caches).flat_map(|cache| (0..threads).map(move |cpu| CpuId::new(cache + caches * cpu)));
/// let vector: PriorityVec<ByCpu<8>> = PriorityVec::try_new(order)?;
/// assert_eq!((vector.cpus().len(), vector.footprint().masks), (32, 4)); // a line a shard
/// # Ok::<(), corelocal::priority::OrderError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByCpu<const K: usize = 64>;

/// CPUs in a word.
const LANES: usize = 8;
/// Words in a shard's line.
const WORDS: usize = 8;
/// Rows in a shard's line.
const ROWS: usize = WORDS * LANES / bytes::BYTES;
/// The words of a shard, two a row.
type Shard<W> = [[<W as Words>::U64; 2]; ROWS];
/// A word of CPUs that are at no level.
const NOBODY: u64 = u64::from_le_bytes([NOWHERE; LANES]);

/// The CPUs of a mask, where they are in a vector.
#[doc(hidden)]
#[derive(Debug)]
pub enum Chosen {
    All,
    Some(Box<[RowPart]>),
}

/// [`ByCpu`]'s words.
#[doc(hidden)]
#[derive(Debug)]
pub struct Lanes<const K: usize, const LEVELS: usize, W: Words> {
    shards: Box<[CacheLine<Shard<W>>]>,
    map: Map,
    registry: Registry,
}

impl<const K: usize> sealed::Sealed for ByCpu<K> {}
impl<const K: usize> Layout for ByCpu<K> {
    const NAME: &'static str = "ByCpu";
    // On lines of its own: it may be embedded beside words that others write.
    type Table<const LEVELS: usize, W: Words> = CacheLine<Lanes<K, LEVELS, W>>;
}

/// A search: what it has met so far.
struct Search<'a> {
    /// Copies of a level; higher ones are not looked for. The lowest one met, or the highest
    /// one that is wanted.
    level: Row,
    /// Whether somebody is at it.
    met: bool,
    /// Who: the words of a mask.
    found: &'a mut [u64],
}

impl<'a> Search<'a> {
    /// `None` if there are no levels below `below`.
    #[inline(always)]
    fn below(below: usize, levels: usize, found: &'a mut [u64]) -> Option<Self> {
        // Levels are bytes below 127.
        let level = Row::splat(below.min(levels).checked_sub(1)? as u8);
        Some(Self { level, met: false, found })
    }

    /// The result.
    #[inline(always)]
    fn level(self) -> Option<usize> {
        self.met.then_some((self.level.four() & 0xff) as usize)
    }

    /// CPUs at `level`, which is not above the lowest one so far, are met.
    #[inline(always)]
    fn meet(&mut self, level: Row) {
        if level.four() < self.level.four() && self.met {
            self.forget();
        }
        self.level = level;
        self.met = true;
    }

    /// Those who were met so far are not at the lowest level.
    #[cold]
    #[inline(never)]
    fn forget(&mut self) {
        clear_blocks(self.found);
    }

    /// Looks at a part, whose row was read. `fits` is asked about lanes that are low enough.
    #[inline(always)]
    fn look(&mut self, part: RowPart, row: Row, fits: &mut impl FnMut(RowPart, u64) -> u64) {
        // Most rows have nobody who is low enough, or somebody at level 0.
        let mut lanes = u64::from(part.lanes) & !self.level.below(row);
        if lanes != 0 {
            lanes = fits(part, lanes);
        }
        if lanes == 0 {
            return;
        }
        let mut least = Row::splat(0);
        let mut equal = row.equal(least) & lanes;
        if equal == 0 {
            least = row.only(lanes).least();
            equal = row.equal(least) & lanes;
        }
        self.meet(least);
        self.found[usize::from(part.word)] |= part.cpus(equal);
    }
}

/// Those of a shard's rows that are at one level, as lanes.
#[inline(always)]
fn equal(rows: [Row; ROWS], level: Row) -> u64 {
    let [first, second, third, fourth] = rows.map(|row| row.equal(level));
    first | second << 16 | third << 32 | fourth << 48
}

/// The least of a shard's lanes.
#[inline(always)]
fn least([first, second, third, fourth]: [Row; ROWS]) -> Row {
    first.min(second).min(third.min(fourth)).least()
}

impl<const K: usize, const LEVELS: usize, W: Words> Lanes<K, LEVELS, W> {
    /// The lanes `16 * at..` of a shard; its words are loaded once.
    #[inline(always)]
    fn row(shard: &Shard<W>, at: usize) -> Row {
        W::row(&shard[at % ROWS])
    }

    /// All lanes of a shard; those beyond `K` are not read.
    #[inline(always)]
    fn rows(shard: &Shard<W>) -> [Row; ROWS] {
        let used = |at| at * bytes::BYTES < K;
        core::array::from_fn(|at| if used(at) { Self::row(shard, at) } else { Row::splat(NOWHERE) })
    }

    /// The lanes of a part's row.
    #[inline(always)]
    fn row_of(&self, part: RowPart) -> Row {
        W::plain_read(&self.shards);
        Self::row(&self.shards[usize::from(part.shard)], part.row.into())
    }

    /// Reads every allowed lane once, in the order of ids.
    #[inline(always)]
    fn search(
        &self,
        below: usize,
        allowed: &[u64],
        found: &mut CpuMask,
        mut fits: impl FnMut(RowPart, u64) -> u64,
    ) -> Option<usize> {
        let found = found.zeroed(self.map.words());
        let mut search = Search::below(below, LEVELS, found)?;
        self.map.cut(allowed, |part| search.look(part, self.row_of(part), &mut fits));
        search.level()
    }

    /// The same where every CPU is allowed: shard by shard.
    #[inline(never)]
    fn search_all(&self, below: usize, found: &mut CpuMask) -> Option<usize> {
        let found = found.zeroed(self.map.words());
        let mut search = Search::below(below, LEVELS, found)?;
        W::plain_read(&self.shards);
        let mut shards = self.shards.iter().enumerate();
        for (at, shard) in &mut shards {
            let rows = Self::rows(shard);
            let least = least(rows);
            if least.four() > search.level.four() {
                continue;
            }
            search.meet(least);
            self.map.insert(search.found, at, equal(rows, least));
            if least.four() == 0 {
                break;
            }
        }
        // After a CPU at level 0 there is no lower one to look for.
        for (at, shard) in shards {
            self.map.insert(search.found, at, equal(Self::rows(shard), Row::splat(0)));
        }
        search.level()
    }

    /// The same with parts that were looked up before.
    #[inline(never)]
    fn search_parts(&self, below: usize, parts: &[RowPart], found: &mut CpuMask) -> Option<usize> {
        let found = found.zeroed(self.map.words());
        let mut search = Search::below(below, LEVELS, found)?;
        for part in parts {
            search.look(*part, self.row_of(*part), &mut |_, lanes| lanes);
        }
        search.level()
    }

    // Not inlined, as the others: in one function they would share too few registers.
    #[inline(never)]
    fn search_some(&self, below: usize, allowed: &[u64], found: &mut CpuMask) -> Option<usize> {
        self.search(below, allowed, found, |_, lanes| lanes)
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

impl<const K: usize, const LEVELS: usize, W: Words> Table<W> for CacheLine<Lanes<K, LEVELS, W>> {
    fn try_new(order: &[CpuId]) -> Result<Self, OrderError> {
        const { assert!(K >= 8 && K <= 64 && K % 8 == 0, "K is 8, 16, 24, ... or 64") };
        let registry = Registry::try_new(order)?;
        let map = Map::try_new(order, K)?;
        let nobody = || CacheLine::new(core::array::from_fn(|_| [NOBODY, NOBODY].map(W::U64::new)));
        let shards = try_slice(map.shards(), |_| Ok(nobody()))?;
        Ok(Self::new(Lanes { shards, map, registry }))
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn place(&self, cpu: CpuId) -> Place {
        let (shard, lane) = self.map.place(cpu).expect("a CPU of the vector has a lane");
        Place { cpu, shard: shard.into(), lane, level: NOWHERE }
    }

    #[inline]
    fn set(&self, place: &Place, level: u8) {
        if place.level == level {
            return;
        }
        W::plain_read(&self.shards);
        let lane = usize::from(place.lane);
        let change = u64::from(place.level ^ level) << (LANES * (lane % LANES));
        // The lane has one writer, who knows what it holds: this changes its byte and no other.
        self.shards[place.shard as usize].as_flattened()[lane / LANES].xor(change);
        // The level, then what the caller reads next. [E32]
        fence_after_rmw();
    }

    type Among = Chosen;

    fn among(&self, allowed: &[u64]) -> Result<Chosen, AllocError> {
        if self.registry.is_within(allowed) {
            return Ok(Chosen::All);
        }
        let mut count = 0;
        self.map.cut(allowed, |_| count += 1);
        let mut parts = try_slice(count, |_| Ok(RowPart::default()))?;
        let mut places = parts.iter_mut();
        self.map.cut(allowed, |part| *places.next().expect("as many as were counted") = part);
        Ok(Chosen::Some(parts))
    }

    #[inline]
    fn find_among(&self, below: usize, allowed: &Chosen, found: &mut CpuMask) -> Option<usize> {
        match allowed {
            Chosen::All => self.search_all(below, found),
            Chosen::Some(parts) => self.search_parts(below, parts, found),
        }
    }

    #[inline]
    fn find(&self, below: usize, allowed: &[u64], found: &mut CpuMask) -> Option<usize> {
        if self.registry.is_within(allowed) {
            self.search_all(below, found)
        } else {
            self.search_some(below, allowed, found)
        }
    }

    fn find_fit(
        &self,
        below: usize,
        allowed: &[u64],
        fits: &mut dyn FnMut(CpuId) -> bool,
        found: &mut CpuMask,
    ) -> Option<usize> {
        self.search(below, allowed, found, |part, lanes| keep(lanes, |lane| fits(part.cpu(lane))))
    }

    fn find_any(&self, below: usize, allowed: &[u64], near: CpuId) -> Option<(CpuId, usize)> {
        let mut lowest = Search::below(below, LEVELS, &mut [])?;
        let mut found = None;
        let (first, near_lane) = self.map.place(near).unwrap_or((0, 0));
        let first = usize::from(first);
        for at in (first..self.shards.len()).chain(0..first) {
            let lanes = self.map.lanes(at, allowed);
            if lanes == 0 {
                continue;
            }
            let rows = Lanes::<K, LEVELS, W>::rows(&self.shards[at]);
            let rows = core::array::from_fn(|at| rows[at].only(lanes >> (at * bytes::BYTES)));
            let least = least(rows);
            let (level, known) = (least.four(), lowest.level.four());
            if level > known || lowest.met && level == known {
                continue;
            }
            lowest.meet(least);
            let equal = equal(rows, least) & lanes;
            let lane = match equal >> near_lane & 1 {
                1 if at == first => near_lane.into(),
                _ => equal.trailing_zeros(),
            };
            found = Some((at, lane));
            if level == 0 {
                break; // Nobody is lower.
            }
        }
        let (shard, lane) = found?;
        Some((self.map.cpu(shard, lane), lowest.level()?))
    }

    fn count(&self, level: u8) -> usize {
        let rows = self
            .shards
            .iter()
            .flat_map(|shard| (0..ROWS).map(|at| Lanes::<K, LEVELS, W>::row(shard, at)));
        let count: usize = rows.map(|row| row.equal(Row::splat(level)).count_ones() as usize).sum();
        // Lanes without a CPU are at no level. (A pointer that led a slot here from another vector
        // may have set one; see `claim`.)
        let unused = self.shards.len() * WORDS * LANES - self.registry.len();
        if level == NOWHERE { count.saturating_sub(unused) } else { count }
    }

    fn fields(&self, tell: &mut dyn FnMut(Field)) {
        tell(Field::of(Part::Bookkeeping, "pointers".into(), self));
        for (at, shard) in self.shards.iter().enumerate() {
            tell(Field::of(Part::Masks, format!("shard {at}"), shard));
        }
        for (name, address, bytes) in self.map.parts().into_iter().chain(self.registry.parts()) {
            tell(Field { name: name.into(), address, bytes, part: Part::Bookkeeping });
        }
    }
}
