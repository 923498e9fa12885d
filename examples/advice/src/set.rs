//! [`Set`]: some of the units of a problem.

use crate::problem::MAX_FIELDS;

/// Some of at most [`MAX_FIELDS`] things, by number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Set([u64; MAX_FIELDS / 64]);

impl Set {
    pub(crate) fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub(crate) fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|at| set.insert(at));
        set
    }
}
