//! Cold scenes: what an operation takes on an object that no near cache holds.
//!
//! Before each pass this CPU reads a buffer of twice its second-level cache, which pushes out what the
//! first and the second level hold: the objects, the handles that lead to them, the stack and the
//! thread's own words. A pass then visits as many objects as a pass has, each once, in a shuffled
//! order, and only that is timed. What comes from the third level on one machine may come from memory
//! on another. The levels of translation are swept in part, too: a page of the buffer is an entry.

use crate::paired::Random;
use crate::sample::Body;
use crate::{Case, Sample, machine};
use std::hint::black_box;
use std::sync::OnceLock;

/// Operations of a pass, about: enough for the clock, and few enough for a hundred microseconds.
pub const PASS: usize = 256;

/// How a scene is called.
pub const NAME: &str = "cold";

/// Reads so much that the first and the second level hold nothing else.
pub fn sweep() {
    static BUFFER: OnceLock<Vec<u64>> = OnceLock::new();
    // Written, or all its pages would be one page of zeros.
    let buffer = BUFFER.get_or_init(|| vec![1; 2 * machine::second_level() / size_of::<u64>()]);
    let line = 64 / size_of::<u64>();
    black_box(buffer.iter().step_by(line).sum::<u64>());
}

/// Passes of `ops` operations each, swept before, until about as many are done as were asked for.
pub fn swept(ops: usize, mut pass: impl FnMut() + 'static) -> Body {
    // The first touch of memory is neither cold nor hot.
    pass();
    Box::new(move |wanted| {
        let mut total = Sample::default();
        for _ in 0..wanted.div_ceil(ops as u64) {
            sweep();
            total += Sample::of(ops as u64, &mut pass);
        }
        total
    })
}

/// A case of [`PASS`] visits: `each` of every object, in a shuffled order.
///
/// # Panics
///
/// If `each` does not divide [`PASS`].
pub fn case<T: 'static>(
    scene: impl Into<String>,
    peer: &'static str,
    each: usize,
    make: impl Fn() -> T + 'static,
    visit: impl Fn(&T, usize) + Copy + 'static,
) -> Case {
    assert_eq!(PASS % each, 0);
    Case::new(scene, peer, move || {
        let objects: Vec<T> = (0..PASS / each).map(|_| make()).collect();
        let mut order: Vec<u16> = (0..PASS as u16).collect();
        Random::new(3).shuffle(&mut order);
        swept(PASS, move || {
            for &at in &order {
                let at = usize::from(at);
                machine::forget();
                visit(&objects[at / each], at % each);
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn a_pass_visits_every_part_of_every_object_once() {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let made = std::cell::Cell::new(0);
        let log: &'static Rc<_> = Box::leak(Box::new(Rc::clone(&seen)));
        let make = move || {
            made.set(made.get() + 1);
            made.get() - 1
        };
        let visit = move |object: &usize, part: usize| log.borrow_mut().push((*object, part));
        let mut case = case("scene", "peer", 4, make, visit);
        let ops = case.piece().ops;
        let mut seen = seen.borrow().clone();
        assert!(ops % PASS as u64 == 0 && seen.len() % PASS == 0, "{ops} {}", seen.len());
        let shuffled = seen[..PASS].to_vec();
        seen[..PASS].sort_unstable();
        let all: Vec<_> = (0..PASS).map(|at| (at / 4, at % 4)).collect();
        assert_eq!(seen[..PASS], all);
        assert_ne!(shuffled, all);
    }
}
