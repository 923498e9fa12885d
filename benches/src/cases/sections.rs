//! `sections`: what restartable sections cost beside the same work with nothing that makes it right.
//!
//! In each scene the floor is what the hardware could do at best, and is **wrong** as a per-CPU
//! operation: a plain add in a lane that is known (over sixteen counters: in the lane that the id
//! leads to), a list and a `Vec` that only one thread ever sees. The rest is what people write.
//! The goals say how far from the floor a section may be, and from the others it must be.

use super::Goal;
use super::floors::{Fixed, Locked, OneRegister, Plain, PrivateLists, Vecs};
use super::peers::{COUNTERS, Counters, Ours, Padded};
use super::raw::{Lists, Stacks};
use crate::threads::{self, Op, on_many};
use crate::{Case, Sample};
use std::sync::Arc;

pub(super) const BASELINE: &str = "floor (wrong)";
const SECTION: &str = "section";
const LOCKED: &str = "locked add by id";

fn add_scene(mask: usize, threads: usize) -> String {
    let counters = if mask == 0 { "1 counter" } else { "16 counters" };
    format!("add, {counters}, {}", threads::label(threads))
}

fn add<C: Counters>(mask: usize, threads: usize, peer: &'static str) -> Case {
    Case::new(add_scene(mask, threads), peer, move || {
        let counters = C::new();
        let op: Op = Arc::new(move |ops| counters.run(ops, mask));
        Box::new(move |ops| on_many(threads, &op, ops))
    })
}

fn adds(mask: usize, threads: usize) -> Vec<Case> {
    let floor = if mask == 0 { add::<Fixed> } else { add::<Plain> };
    let mut cases = vec![
        floor(mask, threads, BASELINE),
        add::<Ours>(mask, threads, SECTION),
        add::<Ours>(mask, threads, "section again"),
        add::<Locked>(mask, threads, LOCKED),
        add::<Padded>(mask, threads, Padded::NAME),
    ];
    if mask == 0 {
        cases.push(add::<OneRegister>(mask, threads, OneRegister::NAME));
    }
    cases
}

/// Pairs of a push and a pop, on one thread.
fn pairs<P: Pairs>(what: &str, mask: usize, peer: &'static str) -> Case {
    Case::new(pair_scene(what, mask), peer, move || {
        let mut pairs = P::new();
        Box::new(move |ops| Sample::of(ops, || pairs.run(ops, mask)))
    })
}

fn pair_scene(what: &str, mask: usize) -> String {
    let many = if mask == 0 { "1".to_owned() } else { format!("{COUNTERS}") };
    format!("push + pop, {many} {what}{}", if mask == 0 { "" } else { "s" })
}

/// [`COUNTERS`] lists or stacks.
pub(super) trait Pairs: 'static {
    fn new() -> Self;
    /// `ops` times a push and a pop, of number 0 or of all in turn.
    fn run(&mut self, ops: u64, mask: usize);
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in threads::counts() {
        cases.extend([0, COUNTERS - 1].map(|mask| adds(mask, threads)).into_iter().flatten());
    }
    for mask in [0, COUNTERS - 1] {
        cases.push(pairs::<PrivateLists>("list", mask, BASELINE));
        cases.push(pairs::<Lists>("list", mask, SECTION));
    }
    for mask in [0, COUNTERS - 1] {
        cases.push(pairs::<Vecs>("stack", mask, BASELINE));
        cases.push(pairs::<Stacks>("stack", mask, SECTION));
    }
    cases
}

/// What the sections were built to reach.
pub(super) fn goals() -> Vec<Goal> {
    let all = COUNTERS - 1;
    let add = |mask, threads, than: &'static str, most| {
        let scene = add_scene(mask, threads);
        Goal { own: (scene.clone(), SECTION), than: (scene, than), most }
    };
    let mut goals = vec![
        add(0, 1, BASELINE, 1.15),
        add(all, 1, BASELINE, 2.0),
        add(all, 1, LOCKED, 0.2),
        add(0, 1, Padded::NAME, 1.0 / 3.0),
        add(all, 1, Padded::NAME, 1.0 / 3.0),
    ];
    if threads::two_cpus() {
        goals.extend([0, all].map(|mask| Goal {
            own: (add_scene(mask, 2), SECTION),
            than: (add_scene(mask, 1), SECTION),
            most: 1.05,
        }));
    }
    let pair = |what, mask, most| {
        let scene = pair_scene(what, mask);
        Goal { own: (scene.clone(), SECTION), than: (scene, BASELINE), most }
    };
    goals.extend([pair("list", 0, 3.0), pair("list", all, 3.0), pair("stack", all, 2.0)]);
    goals
}
