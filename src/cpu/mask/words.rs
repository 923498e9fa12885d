//! A set as words, and what follows from them.

use super::{BITS, BLOCK, CpuMask, clear_blocks};
use core::hash::{Hash, Hasher};

impl CpuMask {
    /// The set as words, the lowest CPU in the lowest bit of the first. Trailing
    /// zero words may or may not be there.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// // As `sched_setaffinity` wants it on little-endian machines.
    /// let bytes: Vec<u8> =
    ///     CpuMask::first_cpus(10).words().iter().flat_map(|word| word.to_le_bytes()).collect();
    /// assert_eq!(bytes[..3], [0xff, 0b11, 0]);
    /// ```
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Replaces the set by the bits of `words`; allocates only if there is no room.
    ///
    /// ```
    /// use corelocal::cpu::CpuMask;
    /// let mut mask = CpuMask::with_bound(128);
    /// mask.assign_words([0b101, 1]);
    /// assert_eq!(mask.to_string(), "0,2,64");
    /// ```
    pub fn assign_words(&mut self, words: impl IntoIterator<Item = u64>) {
        self.words.clear();
        self.words.extend(words);
        // Ids are 32-bit numbers: words beyond the last id name nothing.
        self.words.truncate(1 << (32 - BITS.trailing_zeros()));
    }

    /// Adds the CPUs `64 * at..` whose bits are set in `word`; allocates only if there is no room.
    #[inline]
    pub(crate) fn insert_word(&mut self, at: usize, word: u64) {
        if word != 0 {
            if at >= self.words.len() {
                self.words.resize(at + 1, 0);
            }
            self.words[at] |= word;
        }
    }

    /// Empties the set, and gives out its words: at least so many, in whole blocks, all zero.
    /// Allocates only if there is no room.
    #[inline]
    pub(crate) fn zeroed(&mut self, words: usize) -> &mut [u64] {
        let words = words.next_multiple_of(BLOCK);
        if self.words.len() != words {
            self.words.resize(words, 0);
        }
        clear_blocks(&mut self.words);
        &mut self.words
    }

    fn trimmed(&self) -> &[u64] {
        let used = self.words.iter().rposition(|word| *word != 0).map_or(0, |at| at + 1);
        &self.words[..used]
    }
}

impl PartialEq for CpuMask {
    fn eq(&self, other: &Self) -> bool {
        self.trimmed() == other.trimmed()
    }
}

impl Eq for CpuMask {}

impl Hash for CpuMask {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.trimmed().hash(state);
    }
}
