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
    pub fn claim_run(&self, mut from: usize, len: usize, align: usize) -> Result<usize, usize> {
        assert!(len > 0, "a run has at least one bit");
        assert!(align.is_power_of_two(), "align {align} is not a power of two");
        if len == 1 && align == 1 {
            return self.claim(from).ok_or(0);
        }
        let mut longest = 0;
        loop {
            let start = self.first_clear(from).and_then(|i| i.checked_next_multiple_of(align));
            let Some(start) = start.filter(|&start| start < self.bits) else {
                return Err(longest);
            };
            let end = start.saturating_add(len).min(self.bits);
            let mut obstacle = self.find(start, end, 0).unwrap_or(end);
            if obstacle - start == len {
                match self.take(start, end) {
                    Ok(()) => return Ok(start),
                    Err(lost) => obstacle = lost,
                }
            }
            longest = longest.max(obstacle - start);
            from = obstacle + 1;
        }
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
