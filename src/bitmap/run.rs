//! Runs of bits: found by counting zeros, claimed word by word in ascending order.

use super::{AtomicBitmap, WORD, spans};
use crate::sync::{AtomicU64, Ordering};

impl<S: AsRef<[AtomicU64]>> AtomicBitmap<S> {
    /// Claims the lowest `len` clear bits in a row at or after `from` whose first
    /// one is a multiple of `align`; returns the first one.
    ///
    /// A run may cross words: its words are claimed in ascending order, and given
    /// back when one of them is lost to somebody else; then the search goes on
    /// after the obstacle. Full words cost one load each, a claimed word one load
    /// and one compare-and-swap. Acquire: pairs with the release of every bit.
    ///
    /// # Errors
    ///
    /// The length of the longest run that a call with the same `from` and `align`
    /// would have found, always less than `len`. With `align` 1 it is a bound for
    /// every alignment: until bits are released, no longer request can succeed.
    /// It counts a claim that somebody else is just giving back as claimed. Who
    /// keeps the bound to skip searches has to raise it after a release, and to
    /// look once without it before the last resort.
    ///
    /// # Panics
    ///
    /// When `len` is 0 or `align` is not a power of two.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(200);
    /// assert_eq!(bitmap.claim_run(3, 100, 1), Ok(3));
    /// assert_eq!(bitmap.claim_run(0, 90, 64), Err(72)); // 128..200 is free and aligned
    /// assert_eq!(bitmap.claim_run(0, 90, 1), Ok(103));
    /// ```
    pub fn claim_run(&self, from: usize, len: usize, align: usize) -> Result<usize, usize> {
        assert!(len > 0, "a run has at least one bit");
        assert!(align.is_power_of_two(), "align {align} is not a power of two");
        if len == 1 && align == 1 {
            return self.claim(from).ok_or(0);
        }
        // A gap is looked for by its first word; a long run's other words come after.
        let head = len.min(WORD);
        let (mut next, mut longest) = (from, 0);
        while let Some(start) = self.find_gap(next, head, align) {
            let end = start.saturating_add(len).min(self.bits);
            let mut obstacle = self.find(start + head, end, 0).unwrap_or(end);
            if obstacle - start == len {
                match self.take(start, end) {
                    Ok(()) => return Ok(start),
                    Err(lost) => obstacle = lost,
                }
            }
            longest = longest.max(obstacle - start);
            next = obstacle + 1;
        }
        Err(self.longest_gap(from, align, longest, head))
    }

    /// Releases the bits `start..start + len`, which the caller has claimed.
    ///
    /// One atomic operation a word, in ascending order; somebody else can claim
    /// the first bits while the last ones are not yet released. Release: pairs
    /// with the next claim of each bit.
    ///
    /// # Panics
    ///
    /// When the run does not end within `self.bits()`. Debug builds also panic when
    /// a bit was not claimed (a double release); other builds leave it clear, and
    /// if somebody else owns it by now, they lose it.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(200);
    /// let start = bitmap.claim_run(0, 150, 1).unwrap();
    /// bitmap.release_run(start + 50, 100); // a part of what was claimed
    /// assert_eq!(bitmap.count(), 50);
    /// ```
    pub fn release_run(&self, start: usize, len: usize) {
        let end = start.checked_add(len).filter(|&end| end <= self.bits);
        let Some(end) = end else {
            panic!("run {start} + {len} does not end within {} bits", self.bits)
        };
        for (at, mask) in spans(start, end) {
            // Release [E1]: pairs with the Acquire in `set`, `claim` and `claim_run`.
            let old = self.words()[at].fetch_and(!mask, Ordering::Release);
            debug_assert_eq!(old & mask, mask, "released twice: word {at} had {old:#x}");
        }
    }

    /// How many clear bits in a row there are around `start..start + len`, which are clear.
    ///
    /// Bits that others claim or release meanwhile count as they are found. One load a word of the
    /// gap, and two more.
    #[cfg_attr(not(feature = "std"), allow(dead_code, reason = "its caller is the allocator"))]
    pub(crate) fn gap_around(&self, start: usize, len: usize) -> usize {
        let words = self.words();
        // Relaxed: a look makes no edge, only a claim does.
        let taken = |at: usize| words[at].load(Ordering::Relaxed);
        let mut first = start;
        while first > 0 {
            // The bits below `first` in its word, at the top.
            let (at, bits) = ((first - 1) / WORD, (first - 1) % WORD + 1);
            let free = (taken(at) << (WORD - bits)).leading_zeros() as usize;
            first -= free.min(bits);
            if free < bits {
                break;
            }
        }
        self.find(start + len, self.bits, 0).unwrap_or(self.bits) - first
    }

    /// The first aligned place at or after `from` where `len <= 64` clear bits begin.
    fn find_gap(&self, from: usize, len: usize, align: usize) -> Option<usize> {
        let gap = |(at, free): (usize, u128)| {
            let starts = starts(free, len) as u64 & multiples(align, at);
            (starts != 0).then(|| at * WORD + starts.trailing_zeros() as usize)
        };
        self.windows(from).find_map(gap)
    }

    /// The length of the longest aligned gap at or after `from`, when it is known to
    /// be at least `longest`, and gaps of `below` or more are already in that.
    #[cold]
    fn longest_gap(&self, from: usize, align: usize, mut longest: usize, below: usize) -> usize {
        for (at, free) in self.windows(from) {
            let multiples = multiples(align, at);
            while longest + 1 < below && starts(free, longest + 1) as u64 & multiples != 0 {
                longest += 1;
            }
        }
        longest
    }

    /// For each word at or after `from` that has clear bits there: its index, and its
    /// clear bits (below) with the next word's (above).
    fn windows(&self, from: usize) -> impl Iterator<Item = (usize, u128)> {
        let words = &self.words()[..self.bits.div_ceil(WORD)];
        // Relaxed: a look makes no edge, only a claim does.
        let free = |at: usize| words.get(at).map_or(0, |word| !word.load(Ordering::Relaxed));
        let first = from / WORD;
        let mut low = free(first) >> (from % WORD) << (from % WORD);
        (first..words.len()).filter_map(move |at| {
            let high = free(at + 1);
            let window = (u128::from(high) << WORD) | u128::from(low);
            let any = low != 0;
            low = high;
            any.then_some((at, window))
        })
    }

    /// Claims `start..end`, or nothing and returns a bit that was in the way.
    fn take(&self, start: usize, end: usize) -> Result<(), usize> {
        for (at, mask) in spans(start, end) {
            if let Err(taken) = claim_mask(&self.words()[at], mask) {
                self.roll_back(start, (at * WORD).max(start));
                return Err(at * WORD + taken.trailing_zeros() as usize);
            }
        }
        Ok(())
    }

    /// Gives `start..end` back after an unfinished claim.
    #[cold]
    fn roll_back(&self, start: usize, end: usize) {
        for (at, mask) in spans(start, end) {
            // Relaxed: we touched nothing that the bits stand for, and earlier
            // releases stay visible through this read-modify-write (module docs).
            self.words()[at].fetch_and(!mask, Ordering::Relaxed);
        }
    }
}

/// Sets all bits of `mask` in `word`, or none and returns those already set.
#[inline]
fn claim_mask(word: &AtomicU64, mask: u64) -> Result<(), u64> {
    // Relaxed: only a first guess for the compare-and-swap.
    let mut old = word.load(Ordering::Relaxed);
    loop {
        if old & mask != 0 {
            return Err(old & mask);
        }
        // Acquire [E1]: pairs with the Release in `clear` and `release_run`.
        // Relaxed on failure: nothing was claimed, so there is nothing to see.
        let new = old | mask;
        match word.compare_exchange_weak(old, new, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => old = now,
        }
    }
}

/// The places in `free` where `len <= 64` set bits begin. Bits above the top are clear.
#[inline]
fn starts(mut free: u128, len: usize) -> u128 {
    let mut have = 1;
    while have < len {
        let more = have.min(len - have);
        free &= free >> more;
        have += more;
    }
    free
}

/// The bits of word `at` whose index is a multiple of the power of two `align`.
#[inline]
fn multiples(align: usize, at: usize) -> u64 {
    if align < WORD { u64::MAX / ((1 << align) - 1) } else { u64::from(at % (align / WORD) == 0) }
}

#[cfg(all(test, not(corelocal_loom)))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_gap_reaches_to_the_next_set_bits() {
        let mut seed = 7_u64;
        let mut below = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % bound
        };
        for bits in [1, 63, 64, 65, 200, 256] {
            for _ in 0..300 {
                let bitmap = AtomicBitmap::new(bits);
                for _ in 0..below(6) {
                    bitmap.set(below(bits));
                }
                let clear: Vec<usize> = (0..bits).filter(|&bit| !bitmap.get(bit)).collect();
                let Some(&start) = clear.get(below(bits) % clear.len().max(1)) else { continue };
                let up = (start..bits).take_while(|&bit| !bitmap.get(bit)).count();
                let down = (0..start).rev().take_while(|&bit| !bitmap.get(bit)).count();
                let len = below(up) + 1;
                assert_eq!(
                    bitmap.gap_around(start, len),
                    down + up,
                    "{start} of {bits}: {clear:?}"
                );
            }
        }
    }
}
