//! [`Cache`]: one set-associative cache with LRU replacement.
//!
//! A cache holds lines, each with a payload `T` of its owner's: `()` where only presence matters,
//! a state where a protocol is built on it. It moves nothing by itself. Whoever owns it asks
//! ([`get`](Cache::get)), fills ([`insert`](Cache::insert)) and takes away
//! ([`remove`](Cache::remove)), and learns what had to go.

use crate::Geometry;

/// A line in a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry<T> {
    line: u64,
    payload: T,
}

/// A line that had to leave for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicted<T> {
    /// Its number: address divided by the bytes of a line.
    pub line: u64,
    /// What its owner had noted.
    pub payload: T,
}

/// A set-associative cache of lines with a payload each.
///
/// Replacement is exact LRU within a set. All lookups are linear in the number of ways.
///
/// ```
/// use model::{Cache, Evicted, Geometry};
///
/// // One set of two ways.
/// let mut cache = Cache::new(Geometry::new(128, 2, 64)?);
/// assert_eq!(cache.insert(7, 'a'), None);
/// assert_eq!(cache.insert(9, 'b'), None);
/// assert_eq!(cache.get(7), Some(&mut 'a')); // a use: 9 is now the older one
/// assert_eq!(cache.insert(5, 'c'), Some(Evicted { line: 9, payload: 'b' }));
/// # Ok::<(), model::GeometryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache<T = ()> {
    geometry: Geometry,
    /// Each set from the least to the most recently used line.
    sets: Vec<Vec<Entry<T>>>,
}

impl<T> Cache<T> {
    /// An empty cache.
    pub fn new(geometry: Geometry) -> Self {
        let set = || Vec::with_capacity(geometry.ways());
        Self { geometry, sets: (0..geometry.sets()).map(|_| set()).collect() }
    }

    /// How it is cut into sets.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Lines that it holds now.
    pub fn len(&self) -> usize {
        self.sets.iter().map(Vec::len).sum()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.sets.iter().all(Vec::is_empty)
    }

    /// A use of `line`: its payload, or `None` on a miss. A hit makes it the set's newest line.
    pub fn get(&mut self, line: u64) -> Option<&mut T> {
        let set = self.set_mut(line);
        let at = set.iter().position(|entry| entry.line == line)?;
        set[at..].rotate_left(1);
        set.last_mut().map(|entry| &mut entry.payload)
    }

    /// The payload of `line`, without using it: what a neighbour's look must not change.
    pub fn peek(&self, line: u64) -> Option<&T> {
        let set = &self.sets[self.geometry.set_of(line)];
        set.iter().find(|entry| entry.line == line).map(|entry| &entry.payload)
    }

    /// As [`Cache::peek`], to change the payload: an order from outside, not a use.
    pub fn peek_mut(&mut self, line: u64) -> Option<&mut T> {
        let mut entries = self.set_mut(line).iter_mut();
        entries.find(|entry| entry.line == line).map(|entry| &mut entry.payload)
    }

    /// Fills `line`, as the newest of its set. What it pushed out comes back: the least recently
    /// used line of a full set, or the line itself with its former payload.
    pub fn insert(&mut self, line: u64, payload: T) -> Option<Evicted<T>> {
        let ways = self.geometry.ways();
        let set = self.set_mut(line);
        let same = set.iter().position(|entry| entry.line == line);
        let gone = same.or((set.len() == ways).then_some(0)).map(|at| set.remove(at));
        set.push(Entry { line, payload });
        gone.map(|Entry { line, payload }| Evicted { line, payload })
    }

    /// Takes `line` away; its payload, or `None` if it was not there.
    pub fn remove(&mut self, line: u64) -> Option<T> {
        let set = self.set_mut(line);
        let at = set.iter().position(|entry| entry.line == line)?;
        Some(set.remove(at).payload)
    }

    /// Takes every line away.
    pub fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
    }

    /// Every line and its payload, set by set, each set from the oldest to the newest line.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.sets.iter().flatten().map(|entry| (entry.line, &entry.payload))
    }

    fn set_mut(&mut self, line: u64) -> &mut Vec<Entry<T>> {
        &mut self.sets[self.geometry.set_of(line)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache<T>(sets: usize, ways: usize) -> Cache<T> {
        Cache::new(Geometry::new(sets * ways * 64, ways, 64).unwrap())
    }

    #[test]
    fn the_least_recently_used_line_of_the_set_goes_not_the_first_filled() {
        let mut cache = cache::<()>(2, 2);
        // Set 0: 0, 2, 4. Set 1: 1.
        for line in [0, 1, 2] {
            assert_eq!(cache.insert(line, ()), None);
        }
        assert!(cache.get(0).is_some());
        assert_eq!(cache.insert(4, ()), Some(Evicted { line: 2, payload: () }));
        assert_eq!(cache.iter().map(|(line, ())| line).collect::<Vec<_>>(), [0, 4, 1]);
        assert_eq!(cache.len(), 3);
    }

    #[test]
    fn a_look_from_outside_does_not_make_a_line_newer() {
        let mut cache = cache::<u8>(1, 2);
        cache.insert(1, 10);
        cache.insert(2, 20);
        assert_eq!(cache.peek(1), Some(&10));
        *cache.peek_mut(1).unwrap() += 1;
        assert_eq!(cache.insert(3, 30), Some(Evicted { line: 1, payload: 11 }));
        assert_eq!(cache.peek(1), None);
        assert_eq!(cache.peek_mut(1), None);
    }

    #[test]
    fn a_line_that_is_there_is_replaced_not_doubled() {
        let mut cache = cache::<u8>(1, 2);
        cache.insert(1, 10);
        cache.insert(2, 20);
        assert_eq!(cache.insert(2, 21), Some(Evicted { line: 2, payload: 20 }));
        assert_eq!(cache.insert(1, 11), Some(Evicted { line: 1, payload: 10 }));
        assert_eq!(cache.len(), 2);
        // And it is the newest now.
        assert_eq!(cache.insert(3, 30), Some(Evicted { line: 2, payload: 21 }));
    }

    #[test]
    fn a_removed_line_leaves_room() {
        let mut cache = cache::<u8>(1, 2);
        cache.insert(1, 10);
        cache.insert(2, 20);
        assert_eq!((cache.remove(1), cache.remove(1)), (Some(10), None));
        assert_eq!(cache.insert(3, 30), None);
        assert!(!cache.is_empty());
        assert_eq!((cache.remove(2), cache.remove(3)), (Some(20), Some(30)));
        assert!(cache.is_empty());
    }
}
