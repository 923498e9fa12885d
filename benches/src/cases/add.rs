//! `add`: one counter, and sixteen in turn, from one thread and from two.
//!
//! One counter shows how long an add waits for the last one's store (latency); sixteen in turn show
//! what an add costs (throughput), which is the fairer figure.
//!
//! Ours is a section where the header says `rseq`: no locked instruction, and nearly the cost of a
//! plain add. With the other backends it is a locked add on this CPU's copy. The peers' adds are
//! locked wherever another thread could be at the same word; what a section itself costs is in
//! `sections`.

use super::anchor::{CAnchor, anchor};
use super::peers::{
    COUNTERS, Contatori, Counters, FastCounter, OldPadded, Ours, Padded, PaddedByOurId, PerThread,
    Shared, Static, StdThreadLocal,
};
use crate::threads::{self, Op, on_two};
use crate::{Case, Sample};
use std::sync::Arc;

pub(super) const BASELINE: &str = Padded::NAME;

#[derive(Clone, Copy)]
struct Scene {
    mask: usize,
    threads: usize,
}

impl Scene {
    fn name(self) -> String {
        let counters = if self.mask == 0 { "1 counter" } else { "16 counters in turn" };
        format!("{counters}, {} thread{}", self.threads, if self.threads > 1 { "s" } else { "" })
    }

    fn case<C: Counters>(self, peer: &'static str) -> Case {
        Case::new(self.name(), peer, move || {
            let counters = C::new();
            if self.threads == 1 {
                return Box::new(move |ops| Sample::of(ops, || counters.run(ops, self.mask)));
            }
            let op: Op = Arc::new(move |ops| counters.run(ops, self.mask));
            Box::new(move |ops| on_two(&op, ops))
        })
    }

    fn cases(self) -> Vec<Case> {
        let mut cases = vec![
            self.case::<Ours>(Ours::NAME),
            self.case::<Ours>("PerCpu again"),
            self.case::<Static>(Static::NAME),
            self.case::<Shared>(Shared::NAME),
            self.case::<Padded>(Padded::NAME),
            self.case::<OldPadded>(OldPadded::NAME),
            self.case::<PaddedByOurId>(PaddedByOurId::NAME),
            self.case::<PerThread>(PerThread::NAME),
            self.case::<StdThreadLocal>(StdThreadLocal::NAME),
            self.case::<Contatori>(Contatori::NAME),
            self.case::<FastCounter>(FastCounter::NAME),
        ];
        cases.extend(anchor().map(|anchor| self.case::<CAnchor>(anchor.names[0])));
        cases
    }
}

pub(super) fn cases() -> Vec<Case> {
    let threads = if threads::two_cpus() { 1..=2 } else { 1..=1 };
    let scenes = threads
        .flat_map(|threads| [0, COUNTERS - 1].map(|mask| Scene { mask, threads }))
        .collect::<Vec<_>>();
    scenes.into_iter().flat_map(Scene::cases).collect()
}
