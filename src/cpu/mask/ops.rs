//! Set algebra, a word at a time.

use super::CpuMask;
use core::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Sub, SubAssign};

impl CpuMask {
    /// The CPUs of either set; also `&a | &b`.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let (node0, node1): (CpuMask, CpuMask) = ("0-1".parse()?, "4-5".parse()?);
    /// let both = node0.union(&node1);
    /// assert_eq!((both.to_string().as_str(), &both), ("0-1,4-5", &(&node0 | &node1)));
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn union(&self, other: &Self) -> Self {
        let mut result = self.clone();
        result |= other;
        result
    }

    /// The CPUs of both sets; also `&a & &b`.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let (allowed, online): (CpuMask, CpuMask) = ("0-5".parse()?, "0,2,4,6".parse()?);
    /// assert_eq!(allowed.intersection(&online).to_string(), "0,2,4");
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn intersection(&self, other: &Self) -> Self {
        let mut result = self.clone();
        result &= other;
        result
    }

    /// The CPUs of this set that are not in `other`; also `&a - &b`.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let (possible, online): (CpuMask, CpuMask) = ("0-7".parse()?, "0-5".parse()?);
    /// assert_eq!(possible.difference(&online).to_string(), "6-7"); // switched off
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn difference(&self, other: &Self) -> Self {
        let mut result = self.clone();
        result -= other;
        result
    }

    /// The CPUs of exactly one of the sets; also `&a ^ &b`.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let (before, now): (CpuMask, CpuMask) = ("0-3".parse()?, "0-2,4".parse()?);
    /// assert_eq!(before.symmetric_difference(&now).to_string(), "3-4"); // came or went
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn symmetric_difference(&self, other: &Self) -> Self {
        let mut result = self.clone();
        result ^= other;
        result
    }

    /// Whether every CPU of this set is in `other`.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let (wanted, online): (CpuMask, CpuMask) = ("2,9".parse()?, "0-7".parse()?);
    /// assert!(!wanted.is_subset(&online));
    /// assert_eq!((&wanted - &online).to_string(), "9"); // this one is missing
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn is_subset(&self, other: &Self) -> bool {
        let theirs = other.words.iter().copied().chain(core::iter::repeat(0));
        self.words.iter().zip(theirs).all(|(mine, theirs)| mine & !theirs == 0)
    }

    /// Whether every CPU of `other` is in this set.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let (machine, node): (CpuMask, CpuMask) = ("0-7".parse()?, "4-7".parse()?);
    /// assert!(machine.is_superset(&node) && !node.is_superset(&machine));
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn is_superset(&self, other: &Self) -> bool {
        other.is_subset(self)
    }

    /// Whether no CPU is in both sets.
    ///
    /// ```
    /// # use corelocal::CpuMask;
    /// let (isolated, workers): (CpuMask, CpuMask) = ("6-7".parse()?, "0-5".parse()?);
    /// assert!(isolated.is_disjoint(&workers));
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(mine, theirs)| mine & theirs == 0)
    }
}

impl BitOrAssign<&CpuMask> for CpuMask {
    fn bitor_assign(&mut self, other: &CpuMask) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }
}

impl BitXorAssign<&CpuMask> for CpuMask {
    fn bitxor_assign(&mut self, other: &CpuMask) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine ^= theirs;
        }
    }
}

impl BitAndAssign<&CpuMask> for CpuMask {
    fn bitand_assign(&mut self, other: &CpuMask) {
        self.words.truncate(other.words.len());
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine &= theirs;
        }
    }
}

impl SubAssign<&CpuMask> for CpuMask {
    fn sub_assign(&mut self, other: &CpuMask) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine &= !theirs;
        }
    }
}

impl BitOr for &CpuMask {
    type Output = CpuMask;
    fn bitor(self, other: Self) -> CpuMask {
        self.union(other)
    }
}

impl BitAnd for &CpuMask {
    type Output = CpuMask;
    fn bitand(self, other: Self) -> CpuMask {
        self.intersection(other)
    }
}

impl BitXor for &CpuMask {
    type Output = CpuMask;
    fn bitxor(self, other: Self) -> CpuMask {
        self.symmetric_difference(other)
    }
}

impl Sub for &CpuMask {
    type Output = CpuMask;
    fn sub(self, other: Self) -> CpuMask {
        self.difference(other)
    }
}
