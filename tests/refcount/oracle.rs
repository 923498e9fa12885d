//! Random sequences on made-up CPUs, against an `Arc` and a number.

use crate::{Value, count};
use corelocal::PerCpuRefCount;
use corelocal::refcount::{PerCpuArc, PerCpuArcOwner};
use corelocal::testing::{Config, with};
use proptest::prelude::*;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Copy, Debug)]
enum Step {
    Share,
    /// The arc at this place among those that live.
    Clone(usize),
    Drop(usize),
    Kill,
    Get,
    TryGet,
    TryGetLive,
    Put,
    /// The thread is on another CPU from here on; or nobody knows on which.
    Move(Option<u32>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Share),
        6 => any::<usize>().prop_map(Step::Clone),
        9 => any::<usize>().prop_map(Step::Drop),
        1 => Just(Step::Kill),
        4 => Just(Step::Get),
        2 => Just(Step::TryGet),
        2 => Just(Step::TryGetLive),
        7 => Just(Step::Put),
        6 => prop_oneof![Just(None), Just(Some(u32::MAX)), (0..4_u32).prop_map(Some)]
            .prop_map(Step::Move),
    ]
}

/// The same history twice: ours, and what must be true.
struct Oracle<F: Fn()> {
    owner: Option<(PerCpuArcOwner<Value>, Arc<Value>)>,
    arcs: Vec<(PerCpuArc<Value>, Arc<Value>)>,
    drops: [Arc<AtomicUsize>; 2],
    count: PerCpuRefCount<F>,
    references: u64,
    is_killed: bool,
    ends: Arc<AtomicUsize>,
}

impl<F: Fn()> Oracle<F> {
    fn step(&mut self, step: Step) {
        match step {
            Step::Share => {
                if let Some((owner, twin)) = &self.owner {
                    self.arcs.push((owner.share(), Arc::clone(twin)));
                }
            }
            Step::Clone(at) if !self.arcs.is_empty() => {
                let (arc, twin) = &self.arcs[at % self.arcs.len()];
                let pair = (arc.clone(), Arc::clone(twin));
                self.arcs.push(pair);
            }
            Step::Drop(at) if !self.arcs.is_empty() => {
                drop(self.arcs.swap_remove(at % self.arcs.len()));
            }
            Step::Clone(_) | Step::Drop(_) | Step::Move(_) => {}
            Step::Kill => {
                drop(self.owner.take());
                let killed = self.count.kill();
                assert_eq!(killed.is_ok(), !self.is_killed, "{killed:?}");
                self.references -= u64::from(!self.is_killed);
                self.is_killed = true;
            }
            Step::Get if self.references > 0 => {
                self.count.get();
                self.references += 1;
            }
            Step::TryGet => {
                let got = self.count.try_get();
                assert_eq!(got, self.references > 0);
                self.references += u64::from(got);
            }
            Step::TryGetLive => {
                let got = self.count.try_get_live();
                assert_eq!(got, !self.is_killed);
                self.references += u64::from(got);
            }
            // The first reference is put by a kill.
            Step::Put if self.references > u64::from(!self.is_killed) => {
                self.count.put();
                self.references -= 1;
            }
            Step::Get | Step::Put => {}
        }
        self.compare();
    }

    fn compare(&self) {
        let [ours, twins] = [0, 1].map(|which| count(&self.drops[which]));
        assert_eq!(ours, twins, "the value was dropped with another reference than the Arc's");
        for (arc, twin) in &self.arcs {
            arc.look();
            let references = PerCpuArc::references(arc);
            assert_eq!(references, Arc::strong_count(twin) as u64);
            assert_eq!(PerCpuArc::has_owner(arc), self.owner.is_some());
        }
        assert_eq!(self.count.references(), self.references);
        let ends = self.ends.load(Ordering::Relaxed);
        assert_eq!(ends, usize::from(self.references == 0));
    }
}

fn compare(steps: &[Step]) {
    let ((value, ours), (twin, twins)) = (Value::new(), Value::new());
    let ends = Arc::new(AtomicUsize::new(0));
    let of_end = Arc::clone(&ends);
    let cpu = Cell::new(Some(0));
    with(Config::new().cpu_ids_from(|| cpu.get()), || {
        let mut oracle = Oracle {
            owner: Some((PerCpuArcOwner::new(value), Arc::new(twin))),
            arcs: Vec::new(),
            drops: [ours, twins],
            count: PerCpuRefCount::new(move || _ = of_end.fetch_add(1, Ordering::Relaxed)),
            references: 1,
            is_killed: false,
            ends,
        };
        for step in steps {
            if let Step::Move(to) = step {
                cpu.set(*to);
            }
            oracle.step(*step);
        }
        oracle.step(Step::Kill);
        while let Some(pair) = oracle.arcs.pop() {
            drop(pair);
            oracle.compare();
        }
        assert_eq!(count(&oracle.drops[0]), 1);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_sequence_counts_otherwise_than_an_arc(
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        compare(&steps);
    }
}
