//! Models of `corelocal::bitmap`: one owner a bit, and edge E1 from one to the next.

use corelocal::bitmap::AtomicBitmap;
use loom_tests::{Arc, AtomicU64, Canary, model, part, together};

/// Bits around the only word boundary of the models, each with what it stands for.
const FREE: std::ops::Range<usize> = 60..68;

struct Granules<S = Box<[AtomicU64]>> {
    bitmap: AtomicBitmap<S>,
    things: [Canary; 8],
}

impl Granules {
    /// All bits claimed but `FREE`: four in each of two words.
    fn new() -> Arc<Self> {
        Self::with(AtomicBitmap::new(FREE.end))
    }
}

impl<S: AsRef<[AtomicU64]>> Granules<S> {
    fn with(bitmap: AtomicBitmap<S>) -> Arc<Self> {
        bitmap.claim_run(0, FREE.start, 1).expect("all bits are clear");
        Arc::new(Self { bitmap, things: Default::default() })
    }

    /// Claims a run and uses what it stands for; its first bit, if there was one.
    #[track_caller]
    fn claim_run(&self, from: usize, len: usize) -> Option<usize> {
        let start = self.bitmap.claim_run(from, len, 1).ok()?;
        self.touch(start, len);
        Some(start)
    }

    #[track_caller]
    fn touch(&self, start: usize, len: usize) {
        for thing in &self.things[start - FREE.start..][..len] {
            thing.touch();
        }
    }

    /// Uses the run once more and releases it.
    #[track_caller]
    fn release_run(&self, start: usize, len: usize) {
        self.touch(start, len);
        self.bitmap.release_run(start, len);
    }

    fn claimed(&self) -> usize {
        self.bitmap.count() - FREE.start
    }
}

/// Two runs of five in eight bits: one claimer gets its run, the other one nothing.
fn five_of_eight<S: AsRef<[AtomicU64]> + Send + Sync + 'static>(granules: &Arc<Granules<S>>) {
    let claim = |granules: &Granules<S>| {
        granules.claim_run(0, 5);
    };
    together([part(granules, claim), part(granules, claim)]);
    assert_eq!(granules.claimed(), 5, "both claimers got a run, or none did");
}

#[test]
fn two_claimers_own_one_bit() {
    model("two_claimers_own_one_bit", 3, || five_of_eight(&Granules::new()));
}

#[test]
fn two_claimers_own_one_bit_inline() {
    model("two_claimers_own_one_bit_inline", 2, || {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        five_of_eight(&Granules::with(AtomicBitmap::from_words(words, FREE.end)));
    });
}

#[test]
fn claimer_takes_bits_of_a_changing_word() {
    model("claimer_takes_bits_of_a_changing_word", 3, || {
        let granules = Granules::new();
        together([
            part(&granules, |granules| {
                granules.claim_run(0, 2);
            }),
            part(&granules, |granules| {
                let start = granules.claim_run(0, 2).expect("two runs fit into one word");
                granules.release_run(start, 2);
            }),
        ]);
        assert_eq!(granules.claimed(), 2, "a claim or a release undid its neighbour's");
    });
}

/// Claims what may have been released before, and must then see the owner before.
fn next_owner_sees_the_last(name: &str, claim: fn(&AtomicBitmap) -> Option<(usize, usize)>) {
    model(name, 3, move || {
        let granules = Granules::new();
        granules.bitmap.claim_run(FREE.start, 8, 1).expect("all of FREE is clear");
        together([
            // Two releases of each word: the second must not hide the first.
            part(&granules, |granules| granules.release_run(62, 4)),
            part(&granules, |granules| granules.release_run(61, 1)),
            part(&granules, move |granules| {
                if let Some((start, len)) = claim(&granules.bitmap) {
                    granules.touch(start, len);
                }
            }),
        ]);
    });
}

#[test]
fn run_misses_what_its_last_owners_did() {
    next_owner_sees_the_last("run_misses_what_its_last_owners_did", |bitmap| {
        let start = bitmap.claim_run(61, 5, 1).ok()?;
        Some((start, 5))
    });
}

#[test]
fn bit_misses_what_its_last_owner_did() {
    next_owner_sees_the_last("bit_misses_what_its_last_owner_did", |bitmap| {
        let start = bitmap.claim(0)?;
        Some((start, 1))
    });
}

#[test]
fn cleared_bit_misses_what_its_last_owner_did() {
    model("cleared_bit_misses_what_its_last_owner_did", 3, || {
        let granules = Granules::new();
        let own = |granules: &Granules| {
            if granules.bitmap.set(63) {
                granules.touch(63, 1);
                granules.bitmap.clear(63);
            }
        };
        together([part(&granules, own), part(&granules, own)]);
        assert_eq!(granules.claimed(), 0);
    });
}

#[test]
fn rollback_leaves_bits_claimed() {
    model("rollback_leaves_bits_claimed", 3, || {
        let granules = Granules::new();
        // The left one starts in the first word and is beaten in the second, or not.
        together([
            part(&granules, |granules| {
                if let Some(start) = granules.claim_run(61, 5) {
                    granules.release_run(start, 5);
                }
            }),
            part(&granules, |granules| {
                let start = granules.claim_run(64, 2);
                start.into_iter().for_each(|start| granules.release_run(start, 2));
            }),
        ]);
        assert_eq!(granules.claimed(), 0, "a claim that was given up left bits behind");
    });
}

/// The last owner of 63 releases it; a claimer of 63 and 64 may take and give back
/// 63 after that; whoever claims 63 then must still see the last owner's work.
#[test]
fn rollback_hides_an_earlier_release() {
    model("rollback_hides_an_earlier_release", 2, || {
        let granules = Granules::new();
        assert!(granules.bitmap.set(63));
        together([
            part(&granules, |granules| granules.release_run(63, 1)),
            part(&granules, |granules| {
                granules.claim_run(63, 2);
            }),
            part(&granules, |granules| {
                granules.bitmap.set(64);
                if granules.bitmap.set(63) {
                    granules.touch(63, 1);
                }
            }),
        ]);
    });
}

/// Claims across one, two and three words, beaten by each other: somebody wins.
#[test]
fn every_claimer_of_a_chain_is_beaten() {
    model("every_claimer_of_a_chain_is_beaten", 2, || {
        let bitmap = Arc::new(AtomicBitmap::new(192));
        bitmap.claim_run(0, 62, 1).expect("all bits are clear");
        let won = Arc::new(AtomicBitmap::new(2));
        // Runs over bits 62..130 (three words) and 100..192 (two): they overlap.
        together([(62, 68, 0), (100, 92, 1)].map(|(from, len, claimer)| {
            let won = won.clone();
            part(&bitmap, move |bitmap| {
                if bitmap.claim_run(from, len, 1).is_ok() {
                    won.set(claimer);
                }
            })
        }));
        assert_eq!(won.count(), 1, "two owners, or none");
        let len = if won.get(0) { 68 } else { 92 };
        assert_eq!(bitmap.count(), 62 + len, "a claim that was given up left bits behind");
    });
}
