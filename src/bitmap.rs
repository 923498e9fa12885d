//! [`AtomicBitmap`]: lock-free bits, claimed and released singly or as runs.
//!
//! A set bit is **claimed**: somebody owns what it stands for. The memory
//! allocator keeps one bit for each 8-byte granule of a chunk and claims runs.
//!
//! # Orderings
//!
//! One edge, **E1**: what the last owner of a bit did before [`release_run`] or
//! [`clear`] (Release) happens before what the next owner does after [`claim`],
//! [`claim_run`] or [`set`] (Acquire). Nothing but read-modify-writes ever
//! changes a word, so each release heads a release sequence that no later change
//! of the word ends: a claim sees the releases of *all* its bits, whatever
//! happened to their neighbours in between. For the same reason a claim that is
//! rolled back needs no Release: its thread touched nothing that the bits stand
//! for, and the releases before it stay visible through it.
//!
//! Everything that only looks (`get`, `count`, `iter`, `next_set`,
//! `first_clear`) is Relaxed and makes no edge: the answer can be old when it
//! arrives. Only a claim knows.
//!
//! # Progress
//!
//! Single-bit operations are a bounded number of atomic operations. [`claim_run`] is
//! lock-free. Its search only goes up, and so does the order in which it claims
//! the words of one run: a claimer that is beaten at a word was beaten by
//! somebody who claimed that word after the claimer had seen it free; if the
//! winner is beaten too, then at a *higher* word. Words end, so the chain ends
//! with a claim that stands. A compare-and-swap that fails because a neighbour's
//! bit changed means that the neighbour's operation moved on.
//!
//! A thread that vanishes in the middle (it was not copied by `fork`) costs the
//! bits that it had claimed, and nobody waits for it.
//!
//! [`claim`]: AtomicBitmap::claim
//! [`claim_run`]: AtomicBitmap::claim_run
//! [`clear`]: AtomicBitmap::clear
//! [`release_run`]: AtomicBitmap::release_run
//! [`set`]: AtomicBitmap::set

use crate::error::AllocError;
use crate::sync::{AtomicU64, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

mod run;

/// Bits in a word.
const WORD: usize = u64::BITS as usize;

/// Bits that many threads claim and release without a lock.
///
/// `S` holds the words: a boxed slice by default; an inline array, or anything
/// that lends the same slice of atomics each time, with
/// [`from_words`](Self::from_words).
///
/// ```
/// use corelocal::bitmap::AtomicBitmap;
///
/// let granules = AtomicBitmap::new(8192);
/// let small = granules.claim(0).unwrap();
/// let run = granules.claim_run(0, 136, 8).unwrap(); // 136 bits, first one a multiple of 8
/// assert_eq!((small, run), (0, 8));
///
/// granules.release_run(run, 136);
/// assert_eq!(granules.count(), 1);
/// ```
///
/// See the [module](self) for orderings and progress.
pub struct AtomicBitmap<S = Box<[AtomicU64]>> {
    words: S,
    bits: usize,
}

impl AtomicBitmap {
    /// A bitmap of `bits` clear bits on the heap.
    ///
    /// # Panics
    ///
    /// When memory is refused; [`try_new`](Self::try_new) returns an error instead.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(100);
    /// assert_eq!((bitmap.bits(), bitmap.count()), (100, 0));
    /// ```
    pub fn new(bits: usize) -> Self {
        match Self::try_new(bits) {
            Ok(bitmap) => bitmap,
            Err(error) => panic!("{error}"),
        }
    }

    /// A bitmap of `bits` clear bits on the heap, or an error.
    ///
    /// # Errors
    ///
    /// [`AllocError::OutOfMemory`] with the bytes that were asked for.
    ///
    /// ```
    /// use corelocal::bitmap::AtomicBitmap;
    /// assert!(AtomicBitmap::try_new(100).is_ok());
    /// assert!(AtomicBitmap::try_new(usize::MAX).is_err());
    /// ```
    pub fn try_new(bits: usize) -> Result<Self, AllocError> {
        let len = bits.div_ceil(WORD);
        let mut words = Vec::new();
        words
            .try_reserve_exact(len)
            .map_err(|_| AllocError::OutOfMemory { bytes: len.saturating_mul(WORD / 8) })?;
        words.extend((0..len).map(|_| AtomicU64::new(0)));
        Ok(Self::from_words(words.into_boxed_slice(), bits))
    }
}

impl<S: AsRef<[AtomicU64]>> AtomicBitmap<S> {
    /// A bitmap over the first `bits` bits of `words`; bits that are set in it are
    /// claimed.
    ///
    /// Bits of the last word that lie beyond `bits` are set here and never handed
    /// out or counted; words beyond it are not touched.
    ///
    /// # Panics
    ///
    /// When `words` holds fewer than `bits` bits.
    ///
    /// ```
    /// use core::sync::atomic::AtomicU64;
    /// use corelocal::bitmap::AtomicBitmap;
    ///
    /// let inline = AtomicBitmap::from_words([AtomicU64::new(0b111), AtomicU64::new(0)], 70);
    /// assert_eq!((inline.count(), inline.first_clear(0)), (3, Some(3)));
    /// assert_eq!(inline.claim_run(64, 7, 1), Err(6)); // 64..70 are six bits
    /// ```
    pub fn from_words(words: S, bits: usize) -> Self {
        let slice = words.as_ref();
        assert!(
            bits.div_ceil(WORD) <= slice.len(),
            "{bits} bits need {} words, not {}",
            bits.div_ceil(WORD),
            slice.len()
        );
        if bits % WORD != 0 {
            // Relaxed: the bits stand for nothing, and nobody else has the bitmap yet.
            slice[bits / WORD].fetch_or(u64::MAX << (bits % WORD), Ordering::Relaxed);
        }
        Self { words, bits }
    }

    /// How many bits there are.
    ///
    /// ```
    /// assert_eq!(corelocal::bitmap::AtomicBitmap::new(65).bits(), 65);
    /// ```
    #[inline]
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Claims bit `i`; whether it was clear, and so is the caller's now.
    ///
    /// One atomic operation. Acquire: pairs with the release of the bit.
    ///
    /// # Panics
    ///
    /// When `i >= self.bits()`.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(2);
    /// assert!(bitmap.set(1));
    /// assert!(!bitmap.set(1));
    /// ```
    #[inline]
    pub fn set(&self, i: usize) -> bool {
        let (word, bit) = self.place(i);
        // Acquire [E1]: pairs with the Release in `clear` and `release_run`.
        word.fetch_or(bit, Ordering::Acquire) & bit == 0
    }

    /// Releases bit `i`; whether it was set.
    ///
    /// One atomic operation. Release: pairs with the next claim of the bit.
    ///
    /// # Panics
    ///
    /// When `i >= self.bits()`.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(2);
    /// bitmap.set(1);
    /// assert!(bitmap.clear(1));
    /// assert!(!bitmap.clear(1));
    /// ```
    #[inline]
    pub fn clear(&self, i: usize) -> bool {
        let (word, bit) = self.place(i);
        // Release [E1]: pairs with the Acquire in `set`, `claim` and `claim_run`.
        word.fetch_and(!bit, Ordering::Release) & bit != 0
    }

    /// Whether bit `i` is set. The answer can be old.
    ///
    /// # Panics
    ///
    /// When `i >= self.bits()`.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(2);
    /// bitmap.set(1);
    /// assert_eq!((bitmap.get(0), bitmap.get(1)), (false, true));
    /// ```
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        let (word, bit) = self.place(i);
        // Relaxed: a look makes no edge, only a claim does.
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// How many bits are set: one load a word. Not a snapshot while others write.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(100);
    /// bitmap.claim_run(0, 70, 1).unwrap();
    /// assert_eq!(bitmap.count(), 70);
    /// ```
    pub fn count(&self) -> usize {
        spans(0, self.bits)
            // Relaxed: a look makes no edge, only a claim does.
            .map(|(at, mask)| self.words()[at].load(Ordering::Relaxed) & mask)
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// The first set bit at or after `from`. One load a word that is passed.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(100);
    /// bitmap.set(70);
    /// assert_eq!((bitmap.next_set(3), bitmap.next_set(71)), (Some(70), None));
    /// ```
    #[inline]
    pub fn next_set(&self, from: usize) -> Option<usize> {
        self.find(from, self.bits, 0)
    }

    /// The first clear bit at or after `from`. It can be gone when you claim it:
    /// [`claim`](Self::claim) finds and claims in one call.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(100);
    /// bitmap.claim_run(0, 64, 1).unwrap();
    /// assert_eq!((bitmap.first_clear(0), bitmap.first_clear(100)), (Some(64), None));
    /// ```
    #[inline]
    pub fn first_clear(&self, from: usize) -> Option<usize> {
        self.find(from, self.bits, u64::MAX)
    }

    /// The set bits in ascending order. Each step looks anew; see [`get`](Self::get).
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(100);
    /// bitmap.set(70);
    /// bitmap.set(3);
    /// assert!(bitmap.iter().eq([3, 70]));
    /// ```
    pub fn iter(&self) -> Iter<'_, S> {
        Iter { bitmap: self, next: 0 }
    }

    /// Claims the first clear bit at or after `from`; `None` when there is none.
    ///
    /// Typically one load and one atomic operation; full words cost a load each.
    /// Acquire: pairs with the release of the bit.
    ///
    /// ```
    /// let bitmap = corelocal::bitmap::AtomicBitmap::new(2);
    /// assert_eq!((bitmap.claim(1), bitmap.claim(0), bitmap.claim(0)), (Some(1), Some(0), None));
    /// ```
    #[inline]
    pub fn claim(&self, mut from: usize) -> Option<usize> {
        loop {
            let i = self.first_clear(from)?;
            if self.set(i) {
                return Some(i);
            }
            from = i + 1;
        }
    }

    /// The first bit in `from..to` that is set after its word is flipped by `flip`.
    #[inline]
    fn find(&self, from: usize, to: usize, flip: u64) -> Option<usize> {
        if from >= to {
            return None;
        }
        let mut ignore = from % WORD;
        for (at, word) in self.words()[..to.div_ceil(WORD)].iter().enumerate().skip(from / WORD) {
            // Relaxed: a look makes no edge, only a claim does.
            let found = (word.load(Ordering::Relaxed) ^ flip) >> ignore << ignore;
            if found != 0 {
                let i = at * WORD + found.trailing_zeros() as usize;
                return (i < to).then_some(i);
            }
            ignore = 0;
        }
        None
    }

    #[inline]
    fn place(&self, i: usize) -> (&AtomicU64, u64) {
        assert!(i < self.bits, "bit {i} of {}", self.bits);
        (&self.words()[i / WORD], 1 << (i % WORD))
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.words.as_ref()
    }
}

/// The words that `start..end` touches, with the mask of its bits in each.
#[inline]
fn spans(start: usize, end: usize) -> impl Iterator<Item = (usize, u64)> {
    (start / WORD..end.div_ceil(WORD)).map(move |at| {
        let low = start.saturating_sub(at * WORD);
        let high = (end - at * WORD).min(WORD);
        (at, (u64::MAX << low) & (u64::MAX >> (WORD - high)))
    })
}

impl<S: AsRef<[AtomicU64]>> fmt::Debug for AtomicBitmap<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicBitmap")
            .field("bits", &self.bits)
            .field("count", &self.count())
            .finish()
    }
}

impl<'a, S: AsRef<[AtomicU64]>> IntoIterator for &'a AtomicBitmap<S> {
    type Item = usize;
    type IntoIter = Iter<'a, S>;

    fn into_iter(self) -> Iter<'a, S> {
        self.iter()
    }
}

/// The set bits of an [`AtomicBitmap`]; made by [`AtomicBitmap::iter`].
///
/// ```
/// use corelocal::bitmap::AtomicBitmap;
///
/// let used = AtomicBitmap::new(8);
/// used.claim_run(2, 3, 1).unwrap();
/// let mut places = used.iter();
/// assert_eq!(places.next(), Some(2));
/// used.set(7); // each step looks anew
/// assert!(places.eq([3, 4, 7]));
/// ```
#[must_use = "iterators do nothing unless they are consumed"]
pub struct Iter<'a, S = Box<[AtomicU64]>> {
    bitmap: &'a AtomicBitmap<S>,
    next: usize,
}

impl<S: AsRef<[AtomicU64]>> Iterator for Iter<'_, S> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let i = self.bitmap.next_set(self.next);
        self.next = i.map_or(self.bitmap.bits, |i| i + 1);
        i
    }
}

impl<S: AsRef<[AtomicU64]>> core::iter::FusedIterator for Iter<'_, S> {}

impl<S> fmt::Debug for Iter<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("next", &self.next).finish_non_exhaustive()
    }
}
