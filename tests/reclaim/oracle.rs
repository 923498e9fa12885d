//! Random sequences on one thread, against the rule itself: what is in the slot, who may read what,
//! and who may be gone.

use crate::{Census, Counted, lanes, settle};
use corelocal::reclaim::{Guard, Unlinked, pin};
use corelocal::{AtomicPerCpu, PerCpuRef};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Pin,
    /// The guard at this place is dropped, and with it what was loaded under it.
    Unpin(usize),
    /// Loads under the guard at this place.
    Load(usize),
    Swap(bool),
    /// With what was loaded last, or an empty slot, as what is expected.
    Exchange(bool, bool),
    Retire,
    /// What was taken out at this place goes on: retired, with a callback, in stages, or let go.
    GoOn(usize, u8),
    /// Waits for it, unless there are guards.
    Wait(usize),
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Pin),
        4 => any::<usize>().prop_map(Step::Unpin),
        6 => any::<usize>().prop_map(Step::Load),
        5 => any::<bool>().prop_map(Step::Swap),
        4 => any::<(bool, bool)>().prop_map(|(last, full)| Step::Exchange(last, full)),
        1 => Just(Step::Retire),
        4 => any::<(usize, u8)>().prop_map(|(at, how)| Step::GoOn(at, how)),
        1 => any::<usize>().prop_map(Step::Wait),
        4 => Just(Step::Flush),
    ]
}

/// A handle, and which object it must lead to.
type Loaded = (usize, PerCpuRef<'static, Counted>);

/// What must be true. Fields in the order in which they must go.
struct Oracle<'s> {
    slot: &'s AtomicPerCpu<Counted>,
    census: Census,
    made: usize,
    now: Option<usize>,
    /// Guards, and what was loaded under each.
    guards: Vec<(Box<Guard>, Vec<Loaded>)>,
    outside: Vec<(usize, Unlinked<Counted>)>,
    last: Option<Loaded>,
}

impl Oracle<'_> {
    fn new_object(&mut self, full: bool) -> Option<corelocal::PerCpu<Counted>> {
        full.then(|| {
            self.made += 1;
            self.census.object(self.made)
        })
    }

    fn took(&mut self, old: Option<Unlinked<Counted>>, new: bool) {
        assert_eq!(old.as_ref().map(|old| old.as_ref().spill().read()), self.now);
        self.outside.extend(self.now.zip(old));
        self.now = new.then_some(self.made);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Pin => self.guards.push((Box::new(pin()), Vec::new())),
            Step::Unpin(at) if !self.guards.is_empty() => {
                let at = at % self.guards.len();
                self.last = None;
                drop(self.guards.swap_remove(at));
            }
            Step::Load(at) if !self.guards.is_empty() => {
                let at = at % self.guards.len();
                let (guard, loaded) = &mut self.guards[at];
                let object = self.slot.load(guard);
                assert_eq!(object.map(|object| object.spill().read()), self.now);
                // SAFETY:
                // - guard and slot outlive it: it goes with the guard, which is boxed and stays put.
                let object = object.map(|object| unsafe {
                    std::mem::transmute::<PerCpuRef<'_, Counted>, PerCpuRef<'static, Counted>>(
                        object,
                    )
                });
                loaded.extend(self.now.zip(object));
                self.last = self.now.zip(object);
            }
            Step::Swap(full) => {
                let new = self.new_object(full);
                let old = self.slot.swap(new, &pin());
                self.took(old, full);
            }
            Step::Exchange(last, full) => self.exchange(if last { self.last } else { None }, full),
            Step::Retire => {
                assert_eq!(self.slot.retire(&pin()), self.now.is_some());
                self.now = None;
            }
            Step::GoOn(at, how) if !self.outside.is_empty() => {
                let (number, old) = self.outside.swap_remove(at % self.outside.len());
                let guard = pin();
                match how % 4 {
                    0 => old.retire(&guard),
                    1 => old.retire_with(&guard, move |object| {
                        assert!(object.iter().all(|(_, copy)| copy.read() == number));
                    }),
                    2 => old.retire_in_stages(&guard, move |object| {
                        assert!(object.iter().all(|(_, copy)| copy.read() == number));
                    }),
                    _ => drop(old),
                }
            }
            Step::Wait(at) if !self.outside.is_empty() => {
                let (number, old) = self.outside.swap_remove(at % self.outside.len());
                match old.wait() {
                    Ok(object) => {
                        assert!(self.guards.is_empty());
                        assert!(object.iter().all(|(_, copy)| copy.read() == number));
                    }
                    Err(pinned) => {
                        assert!(!self.guards.is_empty());
                        self.outside.push((number, pinned.into_inner()));
                    }
                }
            }
            Step::Flush => pin().flush(),
            Step::Unpin(_) | Step::Load(_) | Step::GoOn(..) | Step::Wait(_) => {}
        }
        self.check();
    }

    fn exchange(&mut self, expected: Option<Loaded>, full: bool) {
        let new = self.new_object(full);
        let guard = pin();
        let fits = self.now == expected.map(|(number, _)| number);
        match self.slot.compare_exchange(expected.map(|(_, object)| object), new, &guard) {
            Ok(old) => {
                assert!(fits, "{expected:?} was taken for {:?}", self.now);
                self.took(old, full);
            }
            Err(lost) => {
                assert!(!fits, "{expected:?} was there");
                assert_eq!(lost.current.map(|object| object.spill().read()), self.now);
                assert_eq!(lost.new.map(|new| new.spill().read()), full.then_some(self.made));
            }
        }
    }

    /// All that somebody can reach is as it was, in every lane.
    fn check(&self) {
        let loaded = self.guards.iter().flat_map(|(_, loaded)| loaded.iter().copied());
        for (number, object) in loaded {
            assert!(object.iter().all(|(_, copy)| copy.read() == number));
        }
        for (number, old) in &self.outside {
            assert!(old.as_ref().iter().all(|(_, copy)| copy.read() == *number));
        }
    }
}

fn compare(steps: &[Step]) {
    let census = Census::default();
    let slot = AtomicPerCpu::null();
    let (guards, outside) = Default::default();
    let of_slot = census.clone();
    let mut oracle =
        Oracle { slot: &slot, census: of_slot, made: 0, now: None, guards, outside, last: None };
    for step in steps {
        oracle.step(*step);
    }
    let full = oracle.now.is_some();
    drop(oracle);
    settle(|| census.alive() == if full { lanes() } else { 0 });
    drop(slot);
    assert_eq!(census.alive(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_sequence_frees_what_can_be_reached(
        steps in proptest::collection::vec(step(), 0..100),
    ) {
        compare(&steps);
    }
}
