//! Cases, and how a piece of one is measured.

use crate::events::{self, Counts};
use crate::machine;
use std::fmt;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// How long a piece of a case should take: long enough for the clock, short enough to pass between
/// two switches of a busy machine.
pub const PIECE: Duration = Duration::from_micros(100);

/// Tries before a machine counts as too busy to measure on.
const TRIES: u32 = 10_000;

/// Some operations of a case, and how long they took; disturbed ones are counted and left out.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sample {
    /// Operations in undisturbed pieces, of each thread.
    pub ops: u64,
    /// What they took.
    pub elapsed: Duration,
    /// Pieces rejected because a thread was switched out during them.
    pub rejected: u64,
    /// Events meanwhile, of the thread that asked, where they are counted.
    pub events: Counts,
}

impl Sample {
    /// Times `work`, which does `ops` operations, on this thread.
    #[inline]
    pub fn of(ops: u64, work: impl FnOnce()) -> Self {
        let before = machine::preemptions();
        let counting = events::begin();
        let start = Instant::now();
        work();
        let elapsed = start.elapsed();
        let events = counting.end();
        if machine::preemptions() == before {
            Self { ops, elapsed, rejected: 0, events }
        } else {
            Self::REJECTED
        }
    }

    /// A disturbed piece.
    pub const REJECTED: Self =
        Self { ops: 0, elapsed: Duration::ZERO, rejected: 1, events: Counts([0; events::MOST]) };

    /// Nanoseconds an operation; `None` if every piece was rejected.
    pub fn ns(&self) -> Option<f64> {
        (self.ops > 0).then(|| self.elapsed.as_secs_f64() * 1e9 / self.ops as f64)
    }
}

impl AddAssign for Sample {
    fn add_assign(&mut self, other: Self) {
        self.ops += other.ops;
        self.elapsed += other.elapsed;
        self.rejected += other.rejected;
        self.events += other.events;
    }
}

/// What a case does: asked for so many operations, it does about as many and times them.
pub type Body = Box<dyn FnMut(u64) -> Sample>;

/// One peer in one scene.
pub struct Case {
    scene: String,
    peer: &'static str,
    make: Box<dyn Fn() -> Body>,
    body: Option<Body>,
    /// Operations of a piece, once they are known.
    ops: u64,
    rejected: u64,
}

impl Case {
    /// A case. `make` prepares it, when it is first measured.
    pub fn new(
        scene: impl Into<String>,
        peer: &'static str,
        make: impl Fn() -> Body + 'static,
    ) -> Self {
        let (scene, make) = (scene.into(), Box::new(make));
        Self { scene, peer, make, body: None, ops: 1, rejected: 0 }
    }

    /// What is done.
    pub fn scene(&self) -> &str {
        &self.scene
    }

    /// Who does it.
    pub fn peer(&self) -> &'static str {
        self.peer
    }

    /// Pieces rejected so far.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// One undisturbed piece, of about [`PIECE`].
    ///
    /// # Panics
    ///
    /// If the machine is so busy that no piece passes undisturbed.
    pub fn piece(&mut self) -> Sample {
        if self.body.is_none() {
            self.body = Some((self.make)());
            self.calibrate();
        }
        self.undisturbed(self.ops)
    }

    /// How often each event comes in an operation, by the median of a few pieces; empty where no
    /// events are counted. Of two threads, those of the first one.
    ///
    /// # Panics
    ///
    /// As [`Case::piece`].
    pub fn events(&mut self) -> Vec<f64> {
        /// An odd number.
        const PIECES: usize = 5;
        let names = events::names();
        if names.is_empty() {
            return Vec::new();
        }
        self.piece();
        let pieces = [(); PIECES].map(|()| events::while_on(|| self.undisturbed(self.ops)));
        let median = |event: usize| {
            let per_op = |piece: Sample| piece.events.0[event] as f64 / piece.ops as f64;
            let mut counts = pieces.map(per_op);
            counts.sort_by(f64::total_cmp);
            counts[PIECES / 2]
        };
        (0..names.len()).map(median).collect()
    }

    /// What `iters` operations take, for criterion: measured in pieces, and scaled.
    ///
    /// # Panics
    ///
    /// As [`Case::piece`].
    pub fn time(&mut self, iters: u64) -> Duration {
        let mut total = self.piece();
        while total.ops < iters {
            total += self.undisturbed(self.ops.min(iters - total.ops));
        }
        total.elapsed.mul_f64(iters as f64 / total.ops as f64)
    }

    fn undisturbed(&mut self, ops: u64) -> Sample {
        let body = self.body.as_mut().expect("made by `piece`");
        for _ in 0..TRIES {
            let sample = body(ops);
            self.rejected += sample.rejected;
            if sample.ops > 0 {
                return sample;
            }
        }
        panic!("{} ({}): {TRIES} pieces in a row were preempted", self.scene, self.peer);
    }

    fn calibrate(&mut self) {
        // Everything cold is behind us after the first.
        self.undisturbed(1);
        while self.fastest_of_three() < PIECE / 2 && self.ops < 1 << 32 {
            self.ops *= 2;
        }
    }

    /// One that was held up (by a hypervisor, which no counter tells) must not end the search: a
    /// piece of few operations would measure what begins and ends it, for good.
    fn fastest_of_three(&mut self) -> Duration {
        let elapsed = [(); 3].map(|()| self.undisturbed(self.ops).elapsed);
        elapsed.into_iter().min().expect("three")
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("scene", &self.scene)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A body that takes 1 us an operation, and is disturbed whenever `disturbed` says so.
    fn fake(calls: Rc<Cell<u64>>, disturbed: fn(u64) -> bool) -> Case {
        Case::new("scene", "peer", move || {
            let calls = Rc::clone(&calls);
            Box::new(move |ops| {
                calls.set(calls.get() + 1);
                if disturbed(calls.get()) {
                    return Sample::REJECTED;
                }
                Sample { ops, elapsed: Duration::from_micros(ops), ..Sample::default() }
            })
        })
    }

    #[test]
    fn preempted_pieces_are_counted_and_do_not_enter_the_time() {
        let calls = Rc::new(Cell::new(0));
        let mut case = fake(Rc::clone(&calls), |call| call % 3 != 0);
        assert_eq!(case.time(1000), Duration::from_millis(1));
        let (calls, rejected) = (calls.get(), case.rejected());
        assert_eq!(rejected, calls - calls / 3);
    }

    #[test]
    fn a_case_asked_for_one_operation_reports_the_time_of_one() {
        let mut case = fake(Rc::default(), |_| false);
        assert_eq!(case.time(1), Duration::from_micros(1));
        assert!(case.piece().elapsed >= PIECE / 2);
    }

    #[test]
    #[should_panic(expected = "preempted")]
    fn a_machine_that_is_always_busy_is_an_error_not_a_hang() {
        fake(Rc::default(), |_| true).piece();
    }
}
