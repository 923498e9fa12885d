//! A set of CPUs of any size.

mod iter;
mod ops;
mod text;
mod words;

pub use iter::{IntoIter, Iter};

use super::CpuId;
use alloc::vec::Vec;

const BITS: usize = u64::BITS as usize;

/// Words that are cleared at once.
const BLOCK: usize = 8;

/// A set of CPUs, as large as its highest id asks for.
///
/// A plain value: it makes no system calls and knows no machine. It takes one bit
/// an id up to the highest one that was ever inserted (an id of four thousand
/// million costs half a gigabyte; ids read from text are capped, see
/// [`MAX_PARSED_ID`](super::MAX_PARSED_ID)). [`len`](Self::len) is how many CPUs
/// there are, [`id_bound`](Self::id_bound) how long an array indexed by id must be:
/// two numbers that differ whenever ids have gaps.
///
/// [`insert`](Self::insert), [`remove`](Self::remove) and [`contains`](Self::contains) take constant
/// time; all else goes through words of 64 CPUs, up to the highest id at most.
///
/// Written and read in the kernel's list format.
///
/// ```
/// use corelocal::cpu::{CpuId, CpuMask};
/// let mask: CpuMask = "0,2-3\n".parse()?;
/// assert_eq!((mask.len(), mask.id_bound()), (3, 4));
/// assert!(!mask.contains(CpuId::new(1)));
/// assert_eq!(mask.to_string(), "0,2-3");
/// assert_eq!(mask.iter().map(CpuId::get).sum::<u32>(), 5);
/// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
/// ```
#[derive(Clone, Default)]
pub struct CpuMask {
    /// Trailing zero words are allowed and mean nothing.
    words: Vec<u64>,
}

/// The word that holds `cpu`, and its bit there.
#[inline]
const fn place(cpu: CpuId) -> (usize, u64) {
    (cpu.index() / BITS, 1 << (cpu.index() % BITS))
}

/// The CPU of a bit.
#[inline]
fn cpu_at(word: usize, bit: u32) -> CpuId {
    // Only bits of inserted ids are ever set, and those are 32-bit numbers.
    CpuId::new((word * BITS) as u32 + bit)
}

/// Clears words that are whole blocks, as [`CpuMask::zeroed`] gives them out.
///
/// Four stores a block, where `memset` is a call, and its wide stores stall a load that follows.
#[inline]
pub(crate) fn clear_blocks(words: &mut [u64]) {
    for block in words.chunks_exact_mut(BLOCK) {
        block.copy_from_slice(&[0; BLOCK]);
    }
}

impl CpuMask {
    /// The empty set. Allocates nothing.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// static NOBODY: CpuMask = CpuMask::new();
    /// let mut isolated = CpuMask::new();
    /// assert_eq!(isolated, NOBODY);
    /// isolated.insert(CpuId::new(3));
    /// assert_ne!(isolated, NOBODY);
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// The empty set, with room for the ids below `bound`: inserting those allocates nothing.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// // Made once, so that the hot path does not allocate.
    /// let mut found = CpuMask::with_bound(480);
    /// let room = found.words().len();
    /// assert!(found.is_empty() && found.insert(CpuId::new(479)));
    /// assert_eq!(found.words().len(), room.max(8));
    /// ```
    pub fn with_bound(bound: usize) -> Self {
        Self { words: Vec::with_capacity(bound.div_ceil(BITS).next_multiple_of(BLOCK)) }
    }

    /// The CPUs `0..count`.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// assert_eq!(CpuMask::first_cpus(4).to_string(), "0-3");
    /// assert!(CpuMask::first_cpus(0).is_empty());
    /// ```
    pub fn first_cpus(count: u32) -> Self {
        let mut mask = Self::new();
        if let Some(last) = count.checked_sub(1) {
            mask.insert_run(0, last);
        }
        mask
    }

    /// Adds `cpu`; says whether it was not there before. Allocates only when the id
    /// is above every earlier one, and there is no [room](Self::with_bound) for it.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// let mut seen = CpuMask::new();
    /// let first_times = [3, 5, 3].map(|id| seen.insert(CpuId::new(id)));
    /// assert_eq!((first_times, seen.to_string().as_str()), ([true, true, false], "3,5"));
    /// ```
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    /// Adds `first..=last`, a word at a time.
    pub(super) fn insert_run(&mut self, first: u32, last: u32) {
        let (low, _) = place(CpuId::new(first));
        let (high, _) = place(CpuId::new(last));
        if high >= self.words.len() {
            self.words.resize(high + 1, 0);
        }
        let from_first = u64::MAX << (first as usize % BITS);
        let to_last = u64::MAX >> (BITS - 1 - last as usize % BITS);
        if low == high {
            self.words[low] |= from_first & to_last;
            return;
        }
        self.words[low] |= from_first;
        // Copied in blocks, not filled: that is fast in debug builds, too, and a hostile
        // list can ask for many long runs.
        const ONES: [u64; 64] = [u64::MAX; 64];
        for block in self.words[low + 1..high].chunks_mut(ONES.len()) {
            block.copy_from_slice(&ONES[..block.len()]);
        }
        self.words[high] |= to_last;
    }

    /// Takes `cpu` out; says whether it was there.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// let mut idle = CpuMask::first_cpus(3);
    /// assert!(idle.remove(CpuId::new(1)));
    /// assert!(!idle.remove(CpuId::new(1)), "somebody else had it");
    /// assert_eq!(idle.to_string(), "0,2");
    /// ```
    pub fn remove(&mut self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        let Some(word) = self.words.get_mut(word) else { return false };
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// Whether `cpu` is in the set. One load; any id may be asked for.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// let allowed: CpuMask = "0-3,8".parse()?;
    /// assert!(allowed.contains(CpuId::new(8)) && !allowed.contains(CpuId::new(4)));
    /// assert!(!allowed.contains(CpuId::new(u32::MAX))); // an id from anywhere
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// How many CPUs are in the set. Not the length of an array indexed by id: that
    /// is [`id_bound`](Self::id_bound). Linear in the highest id.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let allowed: CpuMask = "0-1,64-65".parse()?;
    /// let (workers, slots) = (allowed.len(), allowed.id_bound());
    /// assert_eq!((workers, slots), (4, 66));
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no CPU is in the set.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let (allowed, node): (CpuMask, CpuMask) = ("0-3".parse()?, "4-7".parse()?);
    /// let here = &allowed & &node;
    /// let places = if here.is_empty() { &allowed } else { &here }; // the whole machine, if need be
    /// assert_eq!(places.to_string(), "0-3");
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Highest id + 1; 0 for the empty set. The length of an array that every id of
    /// the set can index.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let possible: CpuMask = "0-1,8".parse()?;
    /// let by_id = vec![0_u64; possible.id_bound()];
    /// assert_eq!(by_id.len(), 9);
    /// assert!(possible.iter().all(|cpu| cpu.index() < by_id.len()));
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn id_bound(&self) -> usize {
        self.last().map_or(0, |cpu| cpu.index() + 1)
    }

    /// The lowest CPU.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// let siblings: CpuMask = "2,66".parse()?;
    /// assert_eq!(siblings.first(), Some(CpuId::new(2))); // stands for the core
    /// assert_eq!(CpuMask::new().first(), None);
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn first(&self) -> Option<CpuId> {
        let word = self.words.iter().position(|word| *word != 0)?;
        Some(cpu_at(word, self.words[word].trailing_zeros()))
    }

    /// The highest CPU.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// let online: CpuMask = "0-2,9".parse()?;
    /// assert_eq!(online.last(), Some(CpuId::new(9)));
    /// assert_eq!(online.last().map_or(0, |cpu| cpu.index() + 1), online.id_bound());
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn last(&self) -> Option<CpuId> {
        let word = self.words.iter().rposition(|word| *word != 0)?;
        Some(cpu_at(word, u64::BITS - 1 - self.words[word].leading_zeros()))
    }

    /// The lowest CPU above `cpu`, which need not be in the set itself.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// /// Takes CPUs in turn, from whichever was last.
    /// fn next(of: &CpuMask, last: CpuId) -> Option<CpuId> {
    ///     of.next_after(last).or_else(|| of.first())
    /// }
    /// let mask: CpuMask = "1,4,6".parse()?;
    /// let turn = [0, 1, 5, 6].map(|id| next(&mask, CpuId::new(id)).unwrap().get());
    /// assert_eq!(turn, [1, 4, 6, 1]);
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn next_after(&self, cpu: CpuId) -> Option<CpuId> {
        let (start, bit) = place(cpu);
        // All bits above `bit`; none if it is the word's last.
        let above = !(bit | (bit - 1));
        let word = self.words.get(start)? & above;
        if word != 0 {
            return Some(cpu_at(start, word.trailing_zeros()));
        }
        let rest = &self.words[start + 1..];
        let at = start + 1 + rest.iter().position(|word| *word != 0)?;
        Some(cpu_at(at, self.words[at].trailing_zeros()))
    }

    /// The CPUs of the set in ascending order.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let mask: CpuMask = "7,0-1".parse()?;
    /// let names: Vec<String> = mask.iter().map(|cpu| format!("worker-{cpu}")).collect();
    /// assert_eq!(names, ["worker-0", "worker-1", "worker-7"]);
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn iter(&self) -> Iter<'_> {
        Iter::new(&self.words)
    }

    /// Empties the set and keeps its room.
    ///
    /// ```
    /// # use corelocal::{CpuId, CpuMask};
    /// let mut found = CpuMask::first_cpus(200);
    /// found.clear();
    /// assert!(found.is_empty());
    /// found.insert(CpuId::new(199)); // allocates nothing
    /// assert_eq!(found.to_string(), "199");
    /// ```
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Takes out every CPU for which `keep` says no, asking in ascending order.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let load = [90, 10, 70, 20];
    /// let mut candidates = CpuMask::first_cpus(4);
    /// candidates.retain(|cpu| load[cpu.index()] < 50);
    /// assert_eq!(candidates.to_string(), "1,3");
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(CpuId) -> bool) {
        for at in 0..self.words.len() {
            let mut left = self.words[at];
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !keep(cpu_at(at, bit)) {
                    self.words[at] &= !(1 << bit);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
