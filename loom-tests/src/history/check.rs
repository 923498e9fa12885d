//! Where each CPU was during a search, and what the search should have said.

use super::LEVELS;

/// How often each promise was broken; A1 is none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Broken {
    /// A CPU in an answer is not allowed, or was never at its level during the search.
    pub g1: u64,
    /// A CPU that stayed was missed.
    pub g2: u64,
    /// A CPU that only rose was missed.
    pub g3: u64,
    /// A level without CPUs, CPUs without a level, or a level that is not below the task's.
    pub g4: u64,
    /// A CPU that fell meanwhile was missed, though it was eligible at each instant.
    pub a1: u64,
}

impl Broken {
    pub(super) fn add(&mut self, other: Self) {
        self.g1 += other.g1;
        self.g2 += other.g2;
        self.g3 += other.g3;
        self.g4 += other.g4;
        self.a1 += other.a1;
    }

    /// Broken promises; A1 not counted.
    pub fn promises(&self) -> u64 {
        self.g1 + self.g2 + self.g3 + self.g4
    }
}

/// What a search said.
#[derive(Clone, Copy)]
pub(super) struct Answer {
    pub(super) level: Option<u8>,
    pub(super) found: u16,
    pub(super) below: u8,
    /// All CPUs of the level, or one of them.
    pub(super) is_whole: bool,
}

/// The bit of no level.
const NOWHERE: u8 = LEVELS as u8;

/// One CPU's levels since a search began; in the middle of a change, the old and the new one.
#[derive(Clone, Copy)]
struct Track {
    /// Bits: the levels.
    at: u16,
    last: u8,
    only_rose: bool,
}

impl Track {
    fn begin(levels: Levels) -> Self {
        let mut track = Self { at: 1 << levels.old, last: levels.old, only_rose: true };
        if levels.new != levels.old {
            track.goes_to(levels.new);
        }
        track
    }

    fn goes_to(&mut self, level: u8) {
        self.only_rose &= level > self.last;
        self.at |= 1 << level;
        self.last = level;
    }

    fn was_at(&self, level: u8) -> bool {
        self.at >> level & 1 != 0
    }

    /// The highest of its levels, if all were below `below`.
    fn eligible(&self, below: u8) -> Option<u8> {
        let highest = self.at.ilog2() as u8;
        (highest < below).then_some(highest)
    }

    fn stayed(&self) -> bool {
        self.at.is_power_of_two()
    }
}

/// Where a CPU is: `old == new` but in the middle of a change.
#[derive(Clone, Copy)]
struct Levels {
    old: u8,
    new: u8,
}

/// Where every CPU is, and was since each of the searches began that go on.
pub(super) struct Book {
    now: Vec<Levels>,
    /// By searcher.
    tracks: Vec<Option<Vec<Track>>>,
}

impl Book {
    pub(super) fn new(cpus: usize, searchers: usize) -> Self {
        let nowhere = Levels { old: NOWHERE, new: NOWHERE };
        Self { now: vec![nowhere; cpus], tracks: vec![None; searchers] }
    }

    /// A change begins: its accesses come after this.
    pub(super) fn begin_set(&mut self, cpu: usize, level: Option<u8>) {
        let level = level.unwrap_or(NOWHERE);
        self.now[cpu].new = level;
        for tracks in self.tracks.iter_mut().flatten() {
            tracks[cpu].goes_to(level);
        }
    }

    /// All of its accesses came before this.
    pub(super) fn end_set(&mut self, cpu: usize) {
        self.now[cpu].old = self.now[cpu].new;
    }

    pub(super) fn begin_find(&mut self, searcher: usize) {
        let tracks = self.now.iter().map(|levels| Track::begin(*levels));
        self.tracks[searcher] = Some(tracks.collect());
    }

    pub(super) fn end_find(&mut self, searcher: usize, answer: Answer, allowed: u16) -> Broken {
        let tracks = self.tracks[searcher].take().expect("the search began");
        check(&tracks, answer, allowed)
    }

    /// An answer of CPUs that fit is one among those; else nobody that fits may have been missed,
    /// and the answer is one among all.
    pub(super) fn end_find_fit(
        &mut self,
        searcher: usize,
        answer: Answer,
        allowed: u16,
        fit: u16,
    ) -> Broken {
        let tracks = self.tracks[searcher].take().expect("the search began");
        if answer.found & !fit == 0 {
            return check(&tracks, answer, allowed & fit);
        }
        let nobody = Answer { level: None, found: 0, ..answer };
        let mut broken = check(&tracks, nobody, allowed & fit);
        broken.add(check(&tracks, answer, allowed));
        broken
    }
}

fn check(tracks: &[Track], answer: Answer, allowed: u16) -> Broken {
    let mut broken = Broken::default();
    let is_answer = match answer.level {
        Some(level) => answer.found != 0 && level < answer.below,
        None => answer.found == 0,
    };
    broken.g4 += u64::from(!is_answer);
    broken.g1 += u64::from(answer.found & !allowed != 0);
    for (cpu, track) in tracks.iter().enumerate() {
        let is_found = answer.found >> cpu & 1 != 0;
        broken.g1 += u64::from(is_found && !answer.level.is_some_and(|level| track.was_at(level)));
        let Some(highest) = track.eligible(answer.below) else { continue };
        if allowed >> cpu & 1 == 0 || is_found {
            continue;
        }
        // Passed everywhere; or not in an answer that had to hold it, since it did not go on.
        let passed = answer.level.is_none_or(|level| level > highest);
        let left_out = answer.level == Some(highest) && answer.is_whole && track.only_rose;
        match (track.stayed(), track.only_rose) {
            (true, _) => broken.g2 += u64::from(passed || left_out),
            (false, true) => broken.g3 += u64::from(passed || left_out),
            (false, false) => broken.a1 += u64::from(passed),
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::{Answer, Book, Broken};

    const NOBODY: Answer = Answer { level: None, found: 0, below: 4, is_whole: true };

    fn answer(level: u8, found: u16) -> Answer {
        Answer { level: Some(level), found, ..NOBODY }
    }

    /// CPU 0 goes through `before`, a search begins, CPU 0 goes through `during`, it ends.
    fn broken(before: &[Option<u8>], during: &[Option<u8>], answer: Answer) -> Broken {
        let mut book = Book::new(2, 1);
        let walk = |book: &mut Book, levels: &[Option<u8>]| {
            for level in levels {
                book.begin_set(0, *level);
                book.end_set(0);
            }
        };
        walk(&mut book, before);
        book.begin_find(0);
        walk(&mut book, during);
        book.end_find(0, answer, 0b1)
    }

    #[test]
    fn each_broken_promise_is_counted() {
        let none = Broken::default();
        assert_eq!(broken(&[Some(1)], &[], answer(1, 1)), none);
        assert_eq!(broken(&[Some(1)], &[], NOBODY), Broken { g2: 1, ..none });
        assert_eq!(broken(&[Some(1)], &[], answer(1, 0)).g4, 1);
        assert_eq!(broken(&[Some(1)], &[], answer(2, 0b10)).g2, 1);
        assert_eq!(broken(&[Some(1)], &[], answer(2, 1)), Broken { g1: 1, ..none });
        assert_eq!(broken(&[Some(1)], &[], answer(1, 0b11)).g1, 2, "not allowed, never there");

        assert_eq!(broken(&[Some(1)], &[Some(2)], NOBODY), Broken { g3: 1, ..none });
        assert_eq!(broken(&[Some(1)], &[Some(2), Some(3)], NOBODY), Broken { g3: 1, ..none });
        assert_eq!(broken(&[Some(1)], &[Some(4)], NOBODY), none, "not eligible");
        assert_eq!(broken(&[None], &[Some(1)], NOBODY), none, "not there at first");
        assert_eq!(broken(&[Some(1)], &[None], NOBODY), none, "not there at last");

        assert_eq!(broken(&[Some(2)], &[Some(1)], NOBODY), Broken { a1: 1, ..none });
        assert_eq!(broken(&[Some(2)], &[Some(1)], answer(1, 1)), none);
        assert_eq!(broken(&[Some(2)], &[Some(1)], answer(2, 1)), none);
    }

    #[test]
    fn a_change_that_goes_on_counts_as_both_levels() {
        let mut book = Book::new(1, 1);
        book.begin_set(0, Some(1));
        book.end_set(0);
        book.begin_set(0, Some(3));
        book.begin_find(0);
        assert_eq!(book.end_find(0, answer(1, 1), 1), Broken::default());
        book.begin_find(0);
        assert_eq!(book.end_find(0, answer(3, 1), 1), Broken::default());
        book.begin_find(0);
        assert_eq!(book.end_find(0, answer(2, 1), 1).g1, 1);
    }
}
