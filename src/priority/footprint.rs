//! [`Footprint`]: how many lines a vector takes.

use super::table::{Field, Part};
use crate::cacheline::CACHE_LINE;
use alloc::vec::Vec;

/// Cache lines of a vector, each of [`CACHE_LINE`] bytes, from
/// [`PriorityVec::footprint`](super::PriorityVec::footprint); a line
/// that holds several parts is counted at the first of them.
///
/// ```
/// # use corelocal::{CpuId, Packed, PriorityVec};
/// let vector: PriorityVec<Packed> = PriorityVec::try_new((0..64).map(CpuId::new))?;
/// let footprint = vector.footprint();
/// // 101 levels of a count and a pointer to a mask; the masks, on the heap, take more.
/// assert!(footprint.structure >= 101 * 16 / corelocal::CACHE_LINE);
/// assert!(footprint.masks > footprint.structure);
/// # Ok::<(), corelocal::priority::OrderError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Footprint {
    /// Of the structure: counts, and pointers to masks. None for [`ByCpu`](super::ByCpu).
    pub structure: usize,
    /// Of masks, or of lanes.
    pub masks: usize,
    /// Of the CPUs' own levels, where they are kept apart.
    pub current: usize,
    /// Of what says where CPUs are and which are claimed. Searches may read it, nobody but
    /// claims writes it.
    pub bookkeeping: usize,
}

impl Footprint {
    pub(super) fn of(fields: &[Field]) -> Self {
        let mut lines = Vec::new();
        for field in fields {
            let first = field.address / CACHE_LINE;
            let end = (field.address + field.bytes).div_ceil(CACHE_LINE);
            lines.extend((first..end).map(|line| (line, field.part)));
        }
        lines.sort_unstable();
        lines.dedup_by_key(|(line, _)| *line);
        let of = |wanted| lines.iter().filter(|(_, part)| *part == wanted).count();
        Self {
            structure: of(Part::Structure),
            masks: of(Part::Masks),
            current: of(Part::Current),
            bookkeeping: of(Part::Bookkeeping),
        }
    }

    /// All of them. Times [`CACHE_LINE`], it is bytes.
    ///
    /// ```
    /// # use corelocal::{CACHE_LINE, CpuId, PriorityVec};
    /// let vector: PriorityVec = PriorityVec::try_new((0..480).map(CpuId::new))?;
    /// let bytes = vector.footprint().lines() * CACHE_LINE;
    /// assert!(bytes < 16 * 1024, "stays in a first-level cache");
    /// # Ok::<(), corelocal::priority::OrderError>(())
    /// ```
    pub fn lines(&self) -> usize {
        self.structure + self.masks + self.current + self.bookkeeping
    }
}
