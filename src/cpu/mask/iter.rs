use super::{BITS, CpuId, CpuMask, cpu_at};
use core::iter::FusedIterator;

/// The CPUs of a [`CpuMask`] in ascending order.
///
/// ```
/// # use corelocal::{CpuId, CpuMask};
/// let node: CpuMask = "1,4-5".parse()?;
/// let mut cpus = node.iter();
/// assert_eq!(cpus.next(), Some(CpuId::new(1)));     // the first one leads,
/// assert!(cpus.map(CpuId::get).eq([4, 5]));         // the others follow
/// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Iter<'a> {
    words: &'a [u64],
    /// The word that `left` is of.
    at: usize,
    /// Its bits that are still to come.
    left: u64,
}

impl<'a> Iter<'a> {
    pub(super) fn new(words: &'a [u64]) -> Self {
        Self { words, at: 0, left: words.first().copied().unwrap_or(0) }
    }
}

impl Iterator for Iter<'_> {
    type Item = CpuId;

    fn next(&mut self) -> Option<CpuId> {
        while self.left == 0 {
            self.left = *self.words.get(self.at + 1)?;
            self.at += 1;
        }
        let bit = self.left.trailing_zeros();
        self.left &= self.left - 1;
        Some(cpu_at(self.at, bit))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let here = self.left.count_ones() as usize;
        let behind = self.words.len().saturating_sub(self.at + 1);
        (here, Some(here + behind * BITS))
    }
}

impl FusedIterator for Iter<'_> {}

/// The CPUs of a [`CpuMask`] in ascending order, with the set itself.
///
/// ```
/// # use corelocal::{CpuId, CpuMask};
/// fn others(allowed: CpuMask, this: CpuId) -> impl Iterator<Item = CpuId> {
///     allowed.into_iter().filter(move |&cpu| cpu != this) // the set goes along
/// }
/// assert!(others(CpuMask::first_cpus(3), CpuId::new(1)).map(CpuId::get).eq([0, 2]));
/// ```
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless consumed"]
pub struct IntoIter {
    mask: CpuMask,
    last: Option<CpuId>,
}

impl Iterator for IntoIter {
    type Item = CpuId;

    fn next(&mut self) -> Option<CpuId> {
        let next = match self.last {
            None => self.mask.first(),
            Some(last) => self.mask.next_after(last),
        };
        // At the end the last CPU stays, so that the end stays, too.
        self.last = next.or(self.last);
        next
    }
}

impl FusedIterator for IntoIter {}

impl<'a> IntoIterator for &'a CpuMask {
    type Item = CpuId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl IntoIterator for CpuMask {
    type Item = CpuId;
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        IntoIter { mask: self, last: None }
    }
}

impl Extend<CpuId> for CpuMask {
    fn extend<I: IntoIterator<Item = CpuId>>(&mut self, cpus: I) {
        for cpu in cpus {
            self.insert(cpu);
        }
    }
}

impl FromIterator<CpuId> for CpuMask {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut mask = Self::new();
        mask.extend(cpus);
        mask
    }
}
