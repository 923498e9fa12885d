//! [`CoreSet`]: the cores that hold a line.

use std::fmt;

const WORDS: usize = 8;

/// A set of cores, numbered below [`CoreSet::LIMIT`].
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreSet([u64; WORDS]);

impl CoreSet {
    /// The first number that no core can have: 512.
    pub const LIMIT: usize = WORDS * 64;

    /// The set of nobody.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// The set of one core.
    ///
    /// # Panics
    ///
    /// If `core` is not below [`CoreSet::LIMIT`].
    pub fn only(core: usize) -> Self {
        let mut set = Self::EMPTY;
        set.insert(core);
        set
    }

    /// Adds a core.
    ///
    /// # Panics
    ///
    /// If `core` is not below [`CoreSet::LIMIT`].
    pub fn insert(&mut self, core: usize) {
        self.0[core / 64] |= 1 << (core % 64);
    }

    /// The same set without one core, whether it was in it or not.
    ///
    /// # Panics
    ///
    /// If `core` is not below [`CoreSet::LIMIT`].
    #[must_use]
    pub fn without(mut self, core: usize) -> Self {
        self.0[core / 64] &= !(1 << (core % 64));
        self
    }

    /// The cores that are in both.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
        self
    }

    /// Whether a core is in it; a number that no core can have is not.
    pub fn contains(&self, core: usize) -> bool {
        self.0.get(core / 64).is_some_and(|word| word >> (core % 64) & 1 == 1)
    }

    /// How many cores are in it.
    pub fn len(&self) -> usize {
        // Most words are zero, and not every processor counts bits in one instruction.
        let words = self.0.iter().filter(|&&word| word != 0);
        words.map(|word| word.count_ones() as usize).sum()
    }

    /// Whether nobody is.
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// Its cores, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let set = *self;
        (0..Self::LIMIT).filter(move |&core| set.contains(core))
    }
}

impl FromIterator<usize> for CoreSet {
    /// # Panics
    ///
    /// If a core is not below [`CoreSet::LIMIT`].
    fn from_iter<I: IntoIterator<Item = usize>>(cores: I) -> Self {
        let mut set = Self::EMPTY;
        cores.into_iter().for_each(|core| set.insert(core));
        set
    }
}

impl fmt::Debug for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_not_run_into_each_other() {
        let mut set: CoreSet = [0, 63, 64, 239, 511].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 239, 511]);
        assert_eq!((set.len(), set.contains(65), set.contains(512)), (5, false, false));
        assert_eq!(format!("{:?}", set.without(64).without(65)), "{0, 63, 239, 511}");
        set.insert(64);
        assert_eq!(set.len(), 5);
        assert_eq!(set.and(&CoreSet::only(239)), CoreSet::only(239));
        assert!(set.and(&CoreSet::only(238)).is_empty());
    }
}
