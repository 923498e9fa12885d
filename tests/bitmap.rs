//! `AtomicBitmap` against oracles: a `Vec<bool>` that is searched bit by bit, and
//! a table of owners under two threads.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use corelocal::bitmap::AtomicBitmap;

/// Sizes around the word boundaries, one word to many.
const SIZES: [usize; 13] = [0, 1, 7, 63, 64, 65, 100, 127, 128, 129, 200, 512, 700];

/// xorshift64*: small, and the seed is all that a failure needs.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

/// The bitmap's boring twin.
struct Oracle(Vec<bool>);

impl Oracle {
    /// What `claim_run` must return; on success the bits are set.
    fn claim_run(&mut self, from: usize, len: usize, align: usize) -> Result<usize, usize> {
        let mut longest = 0;
        for start in (from..self.0.len()).filter(|start| start % align == 0) {
            let run = self.0[start..].iter().take(len).take_while(|set| !**set).count();
            if run == len {
                self.0[start..start + len].fill(true);
                return Ok(start);
            }
            longest = longest.max(run);
        }
        Err(longest)
    }

    fn first(&self, from: usize, value: bool) -> Option<usize> {
        (from..self.0.len()).find(|&i| self.0[i] == value)
    }
}

/// Lengths that matter: one bit, about a word, 1088 bytes of granules, everything.
fn length(random: &mut Random, bits: usize) -> usize {
    let lengths = [1, 2, 3, 8, 17, 63, 64, 65, 127, 128, 129, 136, bits, bits + 1];
    match random.below(3) {
        0 => lengths[random.below(lengths.len())].max(1),
        _ => 1 + random.below(12),
    }
}

/// One random operation on both; panics where they differ.
fn step<S: AsRef<[AtomicU64]>>(
    bitmap: &AtomicBitmap<S>,
    oracle: &mut Oracle,
    owned: &mut Vec<(usize, usize)>,
    random: &mut Random,
) {
    let bits = bitmap.bits();
    let from = if random.below(2) == 0 { 0 } else { random.below(bits + 2) };
    match random.below(8) {
        0..=3 => {
            let len = length(random, bits);
            let align = 1 << random.below(8);
            let start = bitmap.claim_run(from, len, align);
            let same = oracle.claim_run(from, len, align);
            assert_eq!(start, same, "from {from} len {len} align {align}");
            owned.extend(start.map(|start| (start, len)));
        }
        4 => {
            let i = bitmap.claim(from);
            assert_eq!(i, oracle.claim_run(from, 1, 1).ok(), "claim from {from}");
            owned.extend(i.map(|i| (i, 1)));
        }
        5 if bits > 0 => {
            let i = random.below(bits);
            assert_eq!(bitmap.get(i), oracle.0[i], "get {i}");
            if !oracle.0[i] {
                owned.push((i, 1));
            }
            assert_eq!(bitmap.set(i), !oracle.0[i], "set {i}");
            oracle.0[i] = true;
        }
        _ if !owned.is_empty() => {
            let (start, len) = owned.swap_remove(random.below(owned.len()));
            oracle.0[start..start + len].fill(false);
            if len == 1 && random.below(2) == 0 {
                assert!(bitmap.clear(start) && !bitmap.clear(start), "clear {start}");
            } else {
                bitmap.release_run(start, len);
            }
        }
        _ => {}
    }
    assert_eq!(bitmap.next_set(from), oracle.first(from, true), "next_set {from}");
    assert_eq!(bitmap.first_clear(from), oracle.first(from, false), "first_clear {from}");
}

/// Random operations, then every bit compared.
fn compare<S: AsRef<[AtomicU64]>>(bitmap: AtomicBitmap<S>, seed: u64) {
    let mut oracle = Oracle(vec![false; bitmap.bits()]);
    let (mut owned, mut random) = (Vec::new(), Random(seed));
    for _ in 0..400 {
        step(&bitmap, &mut oracle, &mut owned, &mut random);
    }
    let set = (0..bitmap.bits()).filter(|&i| oracle.0[i]);
    assert!(bitmap.iter().eq(set.clone()), "seed {seed}: {bitmap:?}");
    assert_eq!(bitmap.count(), set.count(), "seed {seed}");
}

#[test]
fn disagrees_with_a_search_bit_by_bit() {
    for bits in SIZES {
        for seed in 1..=60 {
            compare(AtomicBitmap::new(bits), seed);
        }
    }
}

#[test]
fn inline_words_disagree_with_a_search_bit_by_bit() {
    for bits in SIZES.into_iter().filter(|&bits| bits <= 3 * 64) {
        for seed in 1..=60 {
            // One word more than 128 bits need: it must stay out of the game.
            compare(AtomicBitmap::from_words([const { AtomicU64::new(0) }; 3], bits), seed);
        }
    }
}

#[test]
fn run_of_all_bits_leaves_a_bit_out() {
    for bits in SIZES.into_iter().filter(|&bits| bits > 0) {
        let bitmap = AtomicBitmap::new(bits);
        assert_eq!(bitmap.claim_run(0, bits + 1, 1), Err(bits), "{bits} bits");
        assert_eq!(bitmap.claim_run(0, bits, 1), Ok(0), "{bits} bits");
        assert_eq!((bitmap.count(), bitmap.claim(0)), (bits, None));
        bitmap.release_run(0, bits);
        assert_eq!((bitmap.count(), bitmap.next_set(0)), (0, None));
    }
}

#[test]
fn bits_beyond_the_end_are_handed_out() {
    let words = [const { AtomicU64::new(0) }; 2];
    let bitmap = AtomicBitmap::from_words(&words[..], 65);
    assert_eq!((0..).map_while(|_| bitmap.claim(0)).count(), 65);
    assert_eq!(bitmap.claim(0), None);
    assert_eq!((bitmap.count(), bitmap.iter().last()), (65, Some(64)));
}

#[test]
fn huge_arguments_overflow() {
    let bitmap = AtomicBitmap::new(70);
    bitmap.set(0);
    assert_eq!(bitmap.claim_run(0, usize::MAX, 1), Err(69));
    assert_eq!(bitmap.claim_run(0, 1, 1 << (usize::BITS - 1)), Err(0));
    assert_eq!(bitmap.claim_run(usize::MAX, 2, 1), Err(0));
    assert_eq!((bitmap.claim(usize::MAX), bitmap.next_set(usize::MAX)), (None, None));
}

/// Whether `f` panics.
fn panics<T>(f: impl FnOnce() -> T + std::panic::UnwindSafe) -> bool {
    std::panic::catch_unwind(f).is_err()
}

#[test]
fn wrong_arguments_are_taken_silently() {
    let bitmap = || AtomicBitmap::new(70);
    assert!(panics(|| bitmap().get(70)), "get beyond the end, within the word");
    assert!(panics(|| bitmap().set(128)), "set beyond the words");
    assert!(panics(|| bitmap().clear(usize::MAX)));
    assert!(panics(|| bitmap().claim_run(0, 0, 1)), "no bits");
    assert!(panics(|| bitmap().claim_run(0, 1, 3)), "not a power of two");
    assert!(panics(|| bitmap().release_run(60, 11)), "one bit too far");
    assert!(panics(|| bitmap().release_run(60, usize::MAX)), "overflow");
    assert!(panics(|| AtomicBitmap::from_words([], 1)), "no words");
    if cfg!(debug_assertions) {
        assert!(panics(|| bitmap().release_run(60, 1)), "double release");
    }
}

/// Claims and releases runs; each bit's owner flag must be free when it is claimed.
fn churn(bitmap: &AtomicBitmap, owners: &[AtomicBool], seed: u64, rounds: usize) {
    let (mut random, mut owned) = (Random(seed), Vec::new());
    for round in 1..=rounds {
        let len = length(&mut random, 40);
        if let Ok(start) = bitmap.claim_run(random.below(64), len, 1 << random.below(3)) {
            // Relaxed: the bitmap has to make the edge, this only watches.
            let free = |owner: &AtomicBool| !owner.swap(true, Ordering::Relaxed);
            assert!(owners[start..start + len].iter().all(free), "{start} + {len} overlaps");
            owned.push((start, len));
        }
        let keep = if round < rounds { random.below(8) } else { 0 };
        while owned.len() > keep {
            let (start, len) = owned.swap_remove(random.below(owned.len()));
            owners[start..start + len].iter().for_each(|o| o.store(false, Ordering::Relaxed));
            bitmap.release_run(start, len);
        }
    }
}

#[test]
fn two_threads_own_one_bit() {
    let bitmap = AtomicBitmap::new(300);
    let owners: Vec<_> = (0..300).map(|_| AtomicBool::new(false)).collect();
    std::thread::scope(|scope| {
        for seed in 1..=2 {
            let (bitmap, owners) = (&bitmap, &owners);
            scope.spawn(move || churn(bitmap, owners, seed, 100_000));
        }
    });
    assert_eq!(bitmap.count(), 0, "a rolled back or released bit stayed");
}
