//! Random sequences on made-up CPUs, against a multiset.

use crate::{Census, Counted, pinned};
use corelocal::pool::{PerCpuPool, Pooled};
use corelocal::testing::{Config, with};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
enum Step {
    Get,
    TryGet,
    GetIdle,
    GetOwn,
    /// The object at this place among those in use goes back.
    GiveBack(usize),
    Detach(usize),
    /// A new object from outside.
    Put,
    Drain,
    ShrinkTo(usize),
    /// The thread is on another CPU from here on; or nobody knows on which.
    Move(Option<u32>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Get),
        4 => Just(Step::TryGet),
        4 => Just(Step::GetIdle),
        1 => Just(Step::GetOwn),
        14 => any::<usize>().prop_map(Step::GiveBack),
        1 => any::<usize>().prop_map(Step::Detach),
        2 => Just(Step::Put),
        1 => Just(Step::Drain),
        1 => (0..8_usize).prop_map(Step::ShrinkTo),
        3 => prop_oneof![Just(None), (0..4_u32).prop_map(Some)].prop_map(Step::Move),
    ]
}

/// What must be true, whatever the pool does: who is idle, who is in use, who is gone.
struct Oracle<'p> {
    pool: &'p PerCpuPool<Counted>,
    census: Census,
    in_use: Vec<(Pooled<'p, Counted>, bool)>,
    idle: BTreeSet<usize>,
    /// Objects that were taken out, and live on.
    outside: Vec<Counted>,
}

impl<'p> Oracle<'p> {
    fn kept_in_use(&self) -> usize {
        self.in_use.iter().filter(|(_, kept)| *kept).count()
    }

    fn got(&mut self, object: Pooled<'p, Counted>, room: bool, made: usize) {
        let is_idle = self.idle.remove(&object.number);
        let is_new = object.number >= made;
        assert!(is_idle != is_new, "object {} is not idle", object.number);
        self.in_use.push((object, is_idle || room));
    }

    fn step(&mut self, step: Step) {
        let (pool, made) = (self.pool, self.census.made());
        let room = self.kept_in_use() + self.idle.len() < CAPACITY;
        match step {
            Step::Get => self.got(pool.get(), room, made),
            Step::GetOwn => {
                let census = self.census.clone();
                self.got(pool.get_or_else(|| census.born()), room, made);
            }
            Step::TryGet => match pool.try_get() {
                Ok(object) => self.got(object, room, made),
                Err(_) => assert!(!room, "refused, with room"),
            },
            Step::GetIdle => {
                if let Some(object) = pool.get_idle() {
                    assert!(object.number < made);
                    self.got(object, room, made);
                }
            }
            Step::GiveBack(at) if !self.in_use.is_empty() => {
                let (object, kept) = self.in_use.swap_remove(at % self.in_use.len());
                let number = object.number;
                let dropped = self.census.dropped();
                drop(object);
                if self.census.dropped() == dropped {
                    assert!(kept, "one too many is kept");
                    self.idle.insert(number);
                    // Nobody moved: it is the next one out, wherever it lies.
                    let next = pool.get_idle().expect("just given back");
                    assert_eq!(next.number, number, "not the last one");
                    drop(next);
                }
            }
            Step::Detach(at) if !self.in_use.is_empty() => {
                let (object, _) = self.in_use.swap_remove(at % self.in_use.len());
                self.outside.push(Pooled::detach(object));
            }
            Step::GiveBack(_) | Step::Detach(_) => {}
            Step::Put => {
                let object = self.outside.pop().unwrap_or_else(|| self.census.born());
                let number = object.number;
                match pool.put(object) {
                    Ok(()) => {
                        assert!(room);
                        self.idle.insert(number);
                    }
                    Err(object) => assert_eq!(object.number, number),
                }
            }
            Step::Drain => {
                let found: Vec<Counted> = pool.drain().unwrap().collect();
                let numbers: BTreeSet<usize> = found.iter().map(|object| object.number).collect();
                assert_eq!((numbers, found.len()), (self.idle.clone(), self.idle.len()));
                self.idle.clear();
            }
            Step::ShrinkTo(left) => {
                let before = self.idle.len();
                let dropped = pool.shrink_to(left).unwrap();
                let stay = before - dropped;
                assert!(
                    stay <= left && (stay == left.min(before) || stay > pool.shared_capacity() / 2)
                );
                let found: Vec<_> = std::iter::from_fn(|| pool.get_idle()).collect();
                assert_eq!(found.len(), stay, "what stays is in the shared queue");
                let numbers: BTreeSet<usize> = found.iter().map(|object| object.number).collect();
                assert!(numbers.is_subset(&self.idle) && numbers.len() == stay);
                self.idle = numbers;
            }
            Step::Move(_) => {}
        }
        let alive = self.in_use.len() + self.idle.len() + self.outside.len();
        assert_eq!(self.census.alive(), alive);
        assert_eq!(pool.objects(), self.kept_in_use() + self.idle.len());
        let most = 3 * pool.lane_capacity() + pool.shared_capacity();
        assert!(self.idle.len() <= most, "{} idle", self.idle.len());
    }
}

const CAPACITY: usize = 18;

fn compare(steps: &[Step]) {
    let census = Census::default();
    let of_pool = census.clone();
    let builder = PerCpuPool::builder(move || of_pool.born()).lane_capacity(4);
    let pool = builder.shared_batches(2).capacity(CAPACITY).build().unwrap();
    let cpu = Cell::new(Some(0));
    with(Config::new().cpu_ids_from(|| cpu.get()), || {
        let (in_use, idle, outside) = Default::default();
        let mut oracle = Oracle { pool: &pool, census: census.clone(), in_use, idle, outside };
        for step in steps {
            if let Step::Move(to) = step {
                cpu.set(*to);
            }
            oracle.step(*step);
        }
    });
    drop(pool);
    assert_eq!(census.alive(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_sequence_does_not_do_what_a_multiset_does(
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        pinned(|| compare(&steps));
    }
}
