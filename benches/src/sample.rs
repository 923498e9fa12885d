//! Cases, and how a piece of one is measured.

use crate::events::{self, Counts};
use crate::machine;
use crate::paired::Random;
use corelocal::{PerCpu, PerCpuCell};
use std::fmt;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// How long a piece of a case should take: long enough for the clock, short enough to pass between
/// two switches of a busy machine.
pub const PIECE: Duration = Duration::from_micros(100);

/// What takes longer to make is made once, and not anew for each round.
const COSTLY: Duration = Duration::from_millis(4);

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
    /// What the last preparation took.
    making: Duration,
    /// What lies in memory before what was made.
    before: Option<Ballast>,
    /// How long a piece should take, and how many of them make one of [`Case::piece`].
    lasts: Duration,
    parts: u32,
    /// Operations of a piece, once they are known.
    ops: u64,
    rejected: u64,
}

/// Memory that is there only so that what is made next lies elsewhere.
#[allow(dead_code, reason = "held, never looked at")]
struct Ballast {
    heap: Vec<u8>,
    lanes: Vec<PerCpu<PerCpuCell<u64>>>,
}

impl Ballast {
    fn new(random: &mut Random) -> Self {
        let heap = Vec::with_capacity(16 * (1 + random.next() % 512) as usize);
        let lanes = (0..random.next() % 32).map(|_| PerCpu::zeroed()).collect();
        Self { heap, lanes }
    }
}

impl Case {
    /// A case. `make` prepares it, when it is first measured.
    pub fn new(
        scene: impl Into<String>,
        peer: &'static str,
        make: impl Fn() -> Body + 'static,
    ) -> Self {
        let (scene, make) = (scene.into(), Box::new(make));
        let (making, lasts) = (Duration::ZERO, PIECE);
        let (before, parts) = (None, 1);
        Self { scene, peer, make, body: None, making, before, lasts, parts, ops: 1, rejected: 0 }
    }

    /// The same with longer pieces, and so many of them together: where something happens now and then
    /// that every sample should hold many of. One long piece would seldom pass undisturbed.
    #[must_use]
    pub fn in_parts(self, parts: u32, piece: Duration) -> Self {
        Self { lasts: piece, parts, ..self }
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

    /// One undisturbed piece, of about [`PIECE`] or what was asked for.
    ///
    /// # Panics
    ///
    /// If the machine is so busy that no piece passes undisturbed.
    pub fn piece(&mut self) -> Sample {
        if self.body.is_none() {
            self.make();
            self.calibrate();
        }
        let mut total = self.undisturbed(self.ops);
        for _ in 1..self.parts {
            total += self.undisturbed(self.ops);
        }
        total
    }

    /// Prepares the case anew, at another place in memory, and warms it up.
    ///
    /// Where things lie decides by tens of percent what some operations take (which sets of the cache, which
    /// pages, which neighbours), for as long as they lie there. Made once, a case would show one such
    /// place, with a small interval; made anew for each round, it shows all of them.
    ///
    /// # Panics
    ///
    /// As [`Case::piece`].
    pub fn remake(&mut self, random: &mut Random) {
        if self.body.is_none() || self.making > COSTLY {
            return;
        }
        let ballast = Ballast::new(random);
        // The old one goes after the new one came, whose place would else be the same.
        let old = self.body.take();
        self.make();
        drop(old);
        self.before = Some(ballast);
        let rejected = self.rejected;
        self.undisturbed(self.ops);
        // What warms up is no sample, whether disturbed or not.
        self.rejected = rejected;
    }

    fn make(&mut self) {
        let start = Instant::now();
        self.body = Some((self.make)());
        self.making = start.elapsed();
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
        while self.fastest_of_three() < self.lasts / 2 && self.ops < 1 << 32 {
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

    /// With one place for good, two names of one case would differ for good.
    #[test]
    fn a_case_is_made_anew_beside_the_old_one_and_keeps_its_operations() {
        let (calls, made) = (Rc::<Cell<u64>>::default(), Rc::<Cell<(u32, u32)>>::default());
        struct Made(Rc<Cell<(u32, u32)>>);
        impl Drop for Made {
            fn drop(&mut self) {
                let (made, dropped) = self.0.get();
                assert!(made > dropped + 1 || made == 3, "dropped before the next was made");
                self.0.set((made, dropped + 1));
            }
        }
        let (log, seen) = (Rc::clone(&made), Rc::clone(&calls));
        let mut case = Case::new("scene", "peer", move || {
            let (made, dropped) = log.get();
            log.set((made + 1, dropped));
            let (held, calls) = (Made(Rc::clone(&log)), Rc::clone(&seen));
            Box::new(move |ops| {
                let _held = &held;
                calls.set(calls.get() + 1);
                // The first try of a preparation is disturbed.
                let rejected = u64::from(ops == 64 && calls.get() % 2 == 0);
                if rejected > 0 {
                    Sample::REJECTED
                } else {
                    Sample { ops, elapsed: Duration::from_micros(ops), ..Sample::default() }
                }
            })
        });
        let mut random = Random::new(1);
        // Nothing to make anew yet.
        case.remake(&mut random);
        assert_eq!(made.get(), (0, 0));
        let ops = case.piece().ops;
        let rejected = case.rejected();
        case.remake(&mut random);
        case.remake(&mut random);
        assert_eq!((made.get(), case.rejected()), ((3, 2), rejected));
        assert_eq!(case.undisturbed(case.ops).ops, ops);
    }

    #[test]
    #[should_panic(expected = "preempted")]
    fn a_machine_that_is_always_busy_is_an_error_not_a_hang() {
        fake(Rc::default(), |_| true).piece();
    }
}
