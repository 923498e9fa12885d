//! The structures of the layouts by level: where each count and each mask's pointer lies.

use super::by_level::{ByLevel, Levels, Rest, RestBox};
use super::error::OrderError;
use super::level::{Level, Packed, Padded, Padding};
use super::mask::{MaskLine, try_slice};
use super::table::{Layout, sealed};
use super::word::{Word, Words};
use crate::cacheline::CacheLine;
use crate::cpu::CpuId;
use crate::error::AllocError;

/// A [`Level`] after the other: [`Packed`] and [`Padded`].
#[doc(hidden)]
#[derive(Debug)]
#[repr(C)]
pub struct Rows<P: Padding, const LEVELS: usize, W: Words> {
    levels: [Level<MaskLine<W>, P, W>; LEVELS],
    rest: RestBox<W>,
}

impl<P: Padding + Send + Sync + 'static, const LEVELS: usize, W: Words> Levels<W>
    for Rows<P, LEVELS, W>
where
    Level<MaskLine<W>, P, W>: Send + Sync,
{
    const LEVELS: usize = LEVELS;

    fn try_new(order: &[CpuId]) -> Result<Self, OrderError> {
        let rest = Rest::try_new(order, LEVELS)?;
        Ok(Self { levels: masks::<LEVELS, W>()?.map(Level::new), rest })
    }

    #[inline(always)]
    fn count(&self, level: usize) -> &W::U32 {
        &self.levels[level].count
    }

    #[inline(always)]
    fn mask(&self, level: usize) -> &MaskLine<W> {
        &self.levels[level].mask
    }

    #[inline(always)]
    fn rest_box(&self) -> &RestBox<W> {
        &self.rest
    }
}

impl sealed::Sealed for Packed {}
impl Layout for Packed {
    const NAME: &'static str = "Packed";
    type Table<const LEVELS: usize, W: Words> = ByLevel<Rows<Self, LEVELS, W>>;
}

impl sealed::Sealed for Padded {}
impl Layout for Padded {
    const NAME: &'static str = "Padded";
    type Table<const LEVELS: usize, W: Words> = ByLevel<Rows<Self, LEVELS, W>>;
}

/// All counts, then all masks: the layout that keeps count and mask apart without padding. The
/// count of level 0, which every search reads, has a line of its own; the others are packed.
///
/// `COUNT_LINES` lines of 16 counts each hold the counts: 8 are enough for 113 levels, 9 for 127. A
/// vector with more levels than fit does not build.
///
/// ```
/// use corelocal::{CpuId, PriorityVec, Split};
/// let most = PriorityVec::<Split<9>, 127>::try_new([CpuId::new(0)]);
/// assert!(most.is_ok());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Split<const COUNT_LINES: usize = 8>;

/// Counts a line.
const COUNTS: usize = 16;

/// [`Split`]'s structure.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C)]
pub struct Columns<const COUNT_LINES: usize, const LEVELS: usize, W: Words> {
    /// Level 0's is first in the first line, level 1's first in the second.
    counts: [[W::U32; COUNTS]; COUNT_LINES],
    masks: [MaskLine<W>; LEVELS],
    rest: RestBox<W>,
}

impl<const COUNT_LINES: usize, const LEVELS: usize, W: Words> Levels<W>
    for CacheLine<Columns<COUNT_LINES, LEVELS, W>>
{
    const LEVELS: usize = {
        assert!(LEVELS <= (COUNT_LINES - 1) * COUNTS + 1, "more levels than COUNT_LINES hold");
        LEVELS
    };

    fn try_new(order: &[CpuId]) -> Result<Self, OrderError> {
        let zero = |_| W::U32::new(0);
        let counts = core::array::from_fn(|_| core::array::from_fn(zero));
        let rest = Rest::try_new(order, Self::LEVELS)?;
        Ok(Self::new(Columns { counts, masks: masks::<LEVELS, W>()?, rest }))
    }

    #[inline(always)]
    fn count(&self, level: usize) -> &W::U32 {
        let at = if level == 0 { 0 } else { COUNTS - 1 + level };
        &self.counts[at / COUNTS][at % COUNTS]
    }

    #[inline(always)]
    fn mask(&self, level: usize) -> &MaskLine<W> {
        &self.masks[level]
    }

    #[inline(always)]
    fn rest_box(&self) -> &RestBox<W> {
        &self.rest
    }
}

impl<const COUNT_LINES: usize> sealed::Sealed for Split<COUNT_LINES> {}
impl<const COUNT_LINES: usize> Layout for Split<COUNT_LINES> {
    const NAME: &'static str = "Split";
    type Table<const LEVELS: usize, W: Words> = ByLevel<CacheLine<Columns<COUNT_LINES, LEVELS, W>>>;
}

/// A mask a level.
fn masks<const LEVELS: usize, W: Words>() -> Result<[MaskLine<W>; LEVELS], AllocError> {
    let masks = try_slice(LEVELS, |_| MaskLine::try_new())?;
    let mut masks = masks.into_vec().into_iter();
    Ok(core::array::from_fn(|_| masks.next().expect("there is a mask for each level")))
}

/// The sizes of the kernel's structures, with its 101 levels on 64-byte lines.
#[cfg(all(target_pointer_width = "64", not(corelocal_loom)))]
const _: () = {
    use super::word::Atomic;
    use crate::cacheline::CACHE_LINE;

    const fn lines(bytes: usize) -> usize {
        bytes.div_ceil(64)
    }
    if CACHE_LINE == 64 {
        const PACKED: usize = size_of::<Rows<Packed, 101, Atomic>>();
        const PADDED: usize = size_of::<Rows<Padded, 101, Atomic>>();
        const SPLIT: usize = size_of::<Columns<8, 101, Atomic>>();
        assert!(PACKED == 1624 && lines(PACKED) == 26);
        assert!(PADDED == 12_992 && lines(PADDED) == 203);
        assert!(SPLIT == 1328 && lines(SPLIT) == 21);
    }
};
