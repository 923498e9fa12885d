//! The layouts with a count and a mask a level: as in the kernel, and with its proposed changes.

use super::error::OrderError;
use super::mask::{LINE_WORDS, MaskLine, WORD_CPUS, try_boxed, try_slice};
use super::protocol;
use super::registry::Registry;
use super::table::{Field, Part, Place, Table};
use super::value::NOWHERE;
use super::word::{Word, Words};
use crate::cacheline::CacheLine;
use crate::cpu::{CpuId, CpuMask};
use crate::error::AllocError;
use alloc::boxed::Box;
use alloc::format;

/// CPUs a line of `current`.
const CURRENT: usize = 16;

/// What lies behind the last pointer of a layout by level.
#[doc(hidden)]
#[derive(Debug)]
pub struct Rest<W: Words> {
    registry: Registry,
    /// Each CPU's level, by id; written by its one writer.
    current: Box<[CacheLine<[W::U32; CURRENT]>]>,
    /// Words of masks beyond a [`MaskLine`], level after level: machines with more than 512 CPUs.
    more: Box<[W::U64]>,
}

/// [`Rest`], behind one pointer, on lines of its own: every change reads it.
pub(super) type RestBox<W> = Box<[CacheLine<Rest<W>>; 1]>;

impl<W: Words> Rest<W> {
    pub(super) fn try_new(order: &[CpuId], levels: usize) -> Result<RestBox<W>, OrderError> {
        let registry = Registry::try_new(order)?;
        let lines = registry.bound().div_ceil(CURRENT);
        let nowhere = || CacheLine::new(core::array::from_fn(|_| W::U32::new(NOWHERE.into())));
        let more = extra(&registry) * levels;
        let rest = Self {
            registry,
            current: try_slice(lines, |_| Ok(nowhere()))?,
            more: try_slice(more, |_| Ok(W::U64::new(0)))?,
        };
        Ok(try_boxed(CacheLine::new(rest))?)
    }

    fn current(&self, cpu: CpuId) -> &W::U32 {
        &self.current[cpu.index() / CURRENT][cpu.index() % CURRENT]
    }
}

/// Words of a mask of all CPUs that a [`MaskLine`] does not hold.
fn extra(registry: &Registry) -> usize {
    registry.words().saturating_sub(LINE_WORDS)
}

/// Counts and masks by level, wherever they lie.
#[doc(hidden)]
pub trait Levels<W: Words>: Sized + Send + Sync {
    const LEVELS: usize;

    fn try_new(order: &[CpuId]) -> Result<Self, OrderError>;
    fn count(&self, level: usize) -> &W::U32;
    fn mask(&self, level: usize) -> &MaskLine<W>;
    /// The pointer that the structure ends with.
    fn rest_box(&self) -> &RestBox<W>;

    fn rest(&self) -> &Rest<W> {
        W::plain_read(self.rest_box());
        &self.rest_box()[0]
    }

    /// The mask's word of the CPUs `64 * at..`.
    #[inline(always)]
    fn word(&self, level: usize, at: usize) -> Option<&W::U64> {
        match self.mask(level).words().get(at) {
            Some(word) => Some(word),
            None => self.word_beyond(level, at - LINE_WORDS),
        }
    }

    #[cold]
    fn word_beyond(&self, level: usize, at: usize) -> Option<&W::U64> {
        let rest = self.rest();
        (at < extra(&rest.registry)).then(|| &rest.more[level * extra(&rest.registry) + at])
    }

    /// The count of `level` and the word `at` of its mask; nothing for `NOWHERE`.
    #[inline(always)]
    fn pair(&self, level: u8, at: usize) -> Option<(&W::U32, &W::U64)> {
        if level == NOWHERE {
            return None;
        }
        let word = self.word(level.into(), at).expect("a mask has a word for each CPU");
        Some((self.count(level.into()), word))
    }

    /// The words of `level`'s mask that `allowed` meets, each read once, with their numbers.
    #[inline(always)]
    fn meeting<'a>(
        &'a self,
        level: usize,
        allowed: &'a [u64],
    ) -> impl Iterator<Item = (usize, u64)> + 'a {
        let allowed = allowed.iter().enumerate().filter(|(_, allowed)| **allowed != 0);
        allowed.map_while(move |(at, allowed)| Some((at, self.word(level, at)?.load() & allowed)))
    }

    /// Fills `found` with the allowed CPUs at `level`; says whether there are any.
    #[inline(always)]
    fn probe(&self, level: usize, allowed: &[u64], found: &mut CpuMask) -> bool {
        if !protocol::occupied::<W>(self.count(level)) {
            return false;
        }
        found.clear();
        for (at, here) in self.meeting(level, allowed) {
            found.insert_word(at, here);
        }
        if found.is_empty() {
            protocol::passed_by();
            return false;
        }
        true
    }
}

/// The protocol over a structure.
#[doc(hidden)]
#[derive(Debug)]
#[repr(transparent)]
pub struct ByLevel<L>(L);

impl<W: Words, L: Levels<W>> Table<W> for ByLevel<L> {
    fn try_new(order: &[CpuId]) -> Result<Self, OrderError> {
        L::try_new(order).map(Self)
    }

    fn registry(&self) -> &Registry {
        &self.0.rest_box()[0].registry
    }

    fn place(&self, cpu: CpuId) -> Place {
        Place { cpu, shard: 0, lane: 0, level: NOWHERE }
    }

    fn set(&self, place: &Place, level: u8) {
        let current = self.0.rest().current(place.cpu);
        let old = current.load() as u8;
        if level == old {
            return;
        }
        let (at, bit) = (place.cpu.index() / WORD_CPUS, 1 << (place.cpu.index() % WORD_CPUS));
        // The new level first: a search that goes up meets the CPU in one of the two.
        if let Some((count, word)) = self.0.pair(level, at) {
            protocol::enter::<W>(count, word, bit);
        }
        if let Some((count, word)) = self.0.pair(old, at) {
            protocol::leave::<W>(count, word, bit);
        }
        current.store(level.into());
    }

    type Among = Box<[u64]>;

    fn among(&self, allowed: &[u64]) -> Result<Self::Among, AllocError> {
        try_slice(allowed.len(), |at| Ok(allowed[at]))
    }

    fn find_among(&self, below: usize, allowed: &Box<[u64]>, found: &mut CpuMask) -> Option<usize> {
        self.find(below, allowed, found)
    }

    fn find(&self, below: usize, allowed: &[u64], found: &mut CpuMask) -> Option<usize> {
        let met = (0..below.min(L::LEVELS)).find(|level| self.0.probe(*level, allowed, found));
        if met.is_none() {
            found.clear();
        }
        met
    }

    fn find_fit(
        &self,
        below: usize,
        allowed: &[u64],
        fits: &mut dyn FnMut(CpuId) -> bool,
        found: &mut CpuMask,
    ) -> Option<usize> {
        (0..below.min(L::LEVELS)).find(|level| {
            if !self.0.probe(*level, allowed, found) {
                return false;
            }
            found.retain(&mut *fits);
            if found.is_empty() {
                protocol::passed_by();
            }
            !found.is_empty()
        })
    }

    fn find_any(&self, below: usize, allowed: &[u64], near: CpuId) -> Option<(CpuId, usize)> {
        (0..below.min(L::LEVELS)).find_map(|level| {
            if !protocol::occupied::<W>(self.0.count(level)) {
                return None;
            }
            let nearest = nearest(self.0.meeting(level, allowed), near);
            if nearest.is_none() {
                protocol::passed_by();
            }
            Some((nearest?, level))
        })
    }

    fn count(&self, level: u8) -> usize {
        let count = |level| self.0.count(level).load() as usize;
        if level == NOWHERE {
            let somewhere: usize = (0..L::LEVELS).map(count).sum();
            return self.registry().len().saturating_sub(somewhere);
        }
        count(level.into())
    }

    fn fields(&self, tell: &mut dyn FnMut(Field)) {
        let rest: &Rest<W> = &self.0.rest_box()[0];
        for level in 0..L::LEVELS {
            let count = self.0.count(level);
            tell(Field::of(Part::Structure, format!("count[{level}]"), count));
            let mask = self.0.mask(level);
            tell(Field::of(Part::Structure, format!("mask[{level}]"), mask));
            tell(Field::of(Part::Masks, format!("cpus at {level}"), mask.words()));
        }
        tell(Field::of(Part::Structure, "rest".into(), self.0.rest_box()));
        if !rest.more.is_empty() {
            tell(Field::of(Part::Masks, "cpus beyond 511".into(), &*rest.more));
        }
        for (at, line) in rest.current.iter().enumerate() {
            let first = at * CURRENT;
            tell(Field::of(Part::Current, format!("level of CPU {first}.."), line));
        }
        tell(Field::of(Part::Bookkeeping, "registry".into(), rest));
        for (name, address, bytes) in rest.registry.parts() {
            tell(Field { name: name.into(), address, bytes, part: Part::Bookkeeping });
        }
    }
}

/// The first CPU from `near` on, or else the first one.
fn nearest(words: impl Iterator<Item = (usize, u64)>, near: CpuId) -> Option<CpuId> {
    let (near_word, near_bit) = (near.index() / WORD_CPUS, near.index() % WORD_CPUS);
    let mut first = None;
    for (at, here) in words {
        let from_near = match at {
            at if at < near_word => 0,
            at if at == near_word => here & u64::MAX << near_bit,
            _ => here,
        };
        let cpu = |bits: u64| CpuId::new((at * WORD_CPUS) as u32 + bits.trailing_zeros());
        if from_near != 0 {
            return Some(cpu(from_near));
        }
        if here != 0 && first.is_none() {
            first = Some(cpu(here));
        }
    }
    first
}
