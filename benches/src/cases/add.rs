//! `add`: one counter, and sixteen in turn, from one thread and from more; and 256 that no near cache
//! holds, once each.
//!
//! One counter shows how long an add waits for the last one's store (latency); sixteen in turn show
//! what an add costs (throughput), which is the fairer figure. Cold, it is the lines that cost: 256
//! counters of ours are 32 lines of a CPU, and 256 padded ones are 256, and the pointers to them.
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
use crate::threads::{self, Op, on_many};
use crate::{Case, cold};
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
        format!("{counters}, {}", threads::label(self.threads))
    }

    fn case<C: Counters>(self, peer: &'static str) -> Case {
        Case::new(self.name(), peer, move || {
            let counters = C::new();
            let op: Op = Arc::new(move |ops| counters.run(ops, self.mask));
            Box::new(move |ops| on_many(self.threads, &op, ops))
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
    let scenes = threads::counts()
        .into_iter()
        .flat_map(|threads| [0, COUNTERS - 1].map(|mask| Scene { mask, threads }));
    scenes.flat_map(Scene::cases).chain(swept()).collect()
}

fn one_swept<C: Counters>(peer: &'static str) -> Case {
    let scene = format!("{} counters, {}", cold::PASS, cold::NAME);
    cold::case(scene, peer, COUNTERS, C::new, C::add)
}

/// Without those that know their counters at compile time: there are sixteen of them, and not 256.
fn swept() -> [Case; 8] {
    [
        one_swept::<Ours>(Ours::NAME),
        one_swept::<Ours>("PerCpu again"),
        one_swept::<Shared>(Shared::NAME),
        one_swept::<Padded>(Padded::NAME),
        one_swept::<PaddedByOurId>(PaddedByOurId::NAME),
        one_swept::<PerThread>(PerThread::NAME),
        one_swept::<Contatori>(Contatori::NAME),
        one_swept::<FastCounter>(FastCounter::NAME),
    ]
}
