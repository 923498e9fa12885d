//! `refcount`: a clone of a shared value, a look at it, and its drop.
//!
//! The floor is a count of one thread (`Rc`), which is **wrong** as a shared one: no other thread may
//! have it. In `live` the owner is there; in `killed` it has gone, and everybody counts in one word, so that
//! this is what a `PerCpuArc` costs where an `Arc` would be right. In `8 held` eight clones are alive
//! at a time. The time is always that of one clone and one drop. Cold are 256
//! values, each cloned once, of which no near cache holds anything.

use super::Goal;
use crate::machine::forget;
use crate::threads::{self, Op, on_many};
use crate::{Case, cold};
use corelocal::{PerCpuArc, PerCpuArcOwner, PerCpuCell, PerCpuRefCount};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

pub(super) const BASELINE: &str = "Rc (wrong)";
const OURS: &str = "PerCpuArc";
const ARC: &str = "Arc";

/// What is shared.
type Value = [u64; 8];

/// `ops` times: a clone, a look and a drop, `N` at a time.
#[inline]
fn go_round<const N: usize, R: Clone>(shared: &R, look: impl Fn(&R) -> &u64, ops: u64) {
    for _ in 0..ops / N as u64 {
        let held: [R; N] = std::array::from_fn(|_| {
            forget();
            let one = shared.clone();
            black_box(look(&one));
            one
        });
        forget();
        drop(held);
    }
}

/// Which scene: how many are held, whether the owner has gone, on how many threads.
#[derive(Clone, Copy)]
struct Scene {
    held: usize,
    killed: bool,
    threads: usize,
}

impl Scene {
    fn name(self) -> String {
        let what = if self.held == 1 { "clone + drop" } else { "8 held" };
        let when = if self.killed { ", killed" } else { "" };
        format!("{what}{when}, {}", threads::label(self.threads))
    }
}

fn of(scene: Scene, peer: &'static str, make: impl Fn(Scene) -> Op + 'static) -> Case {
    let whole = move |ops: u64| ops.next_multiple_of(scene.held as u64);
    Case::new(scene.name(), peer, move || {
        let op = make(scene);
        Box::new(move |ops| on_many(scene.threads, &op, whole(ops)))
    })
}

/// An operation of a counted pointer that threads may share.
fn shared<R: Clone + Send + Sync + 'static>(
    scene: Scene,
    shared: R,
    look: impl Fn(&R) -> &u64 + Copy + Send + Sync + 'static,
) -> Op {
    match scene.held {
        1 => Arc::new(move |ops| go_round::<1, R>(&shared, look, ops)),
        _ => Arc::new(move |ops| go_round::<8, R>(&shared, look, ops)),
    }
}

/// Each thread has one of its own.
fn floor(scene: Scene) -> Op {
    Arc::new(move |ops| {
        let own = black_box(Rc::new([0; 8]));
        match scene.held {
            1 => go_round::<1, Rc<Value>>(&own, |own| &own[0], ops),
            _ => go_round::<8, Rc<Value>>(&own, |own| &own[0], ops),
        }
    })
}

fn ours(scene: Scene) -> Op {
    let owner = PerCpuArcOwner::new([0; 8]);
    let arc: PerCpuArc<Value> = owner.share();
    if scene.killed {
        drop(owner);
    } else {
        // For as long as the process.
        std::mem::forget(owner);
    }
    shared(scene, arc, |arc| &arc[0])
}

/// The count by itself: a get and a put, `held` at a time.
fn bare(scene: Scene) -> Op {
    let count = PerCpuRefCount::new(|| ());
    if scene.killed {
        count.get();
        count.kill().expect("the system has barriers");
    }
    Arc::new(move |ops| {
        for _ in 0..ops / scene.held as u64 {
            (0..scene.held).for_each(|_| {
                forget();
                count.get();
            });
            (0..scene.held).for_each(|_| {
                forget();
                count.put();
            });
        }
    })
}

/// The two additions that a clone and a drop cannot do without.
fn additions(scene: Scene) -> Op {
    let cell = corelocal::PerCpu::<PerCpuCell<u64>>::zeroed();
    Arc::new(move |ops| {
        for _ in 0..ops / scene.held as u64 {
            (0..scene.held).for_each(|_| {
                forget();
                cell.inc();
            });
            (0..scene.held).for_each(|_| {
                forget();
                cell.dec();
            });
        }
    })
}

fn arc(scene: Scene) -> Op {
    shared(scene, Arc::new([0; 8]), |arc: &Arc<Value>| &arc[0])
}

fn triomphe(scene: Scene) -> Op {
    shared(scene, triomphe::Arc::new([0; 8]), |arc: &triomphe::Arc<Value>| &arc[0])
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in threads::counts() {
        for (held, killed) in [(1, false), (8, false), (1, true)] {
            let scene = Scene { held, killed, threads };
            cases.extend([
                of(scene, BASELINE, floor),
                of(scene, OURS, ours),
                of(scene, "PerCpuArc again", ours),
                of(scene, "PerCpuRefCount", bare),
                of(scene, ARC, arc),
                of(scene, "triomphe::Arc", triomphe),
            ]);
            if !killed {
                cases.push(of(scene, "PerCpuCell inc + dec", additions));
            }
        }
    }
    let ours = || {
        let owner = PerCpuArcOwner::new([0; 8]);
        (owner.share(), owner)
    };
    cases.extend([
        swept(BASELINE, || Rc::new([0; 8]), |rc: &Rc<Value>| visit(rc)),
        swept(OURS, ours, |(arc, _): &Owned| visit(arc)),
        swept("PerCpuArc again", ours, |(arc, _): &Owned| visit(arc)),
        swept(ARC, || Arc::new([0; 8]), |arc: &Arc<Value>| visit(arc)),
        swept(
            "triomphe::Arc",
            || triomphe::Arc::new([0; 8]),
            |arc: &triomphe::Arc<Value>| visit(arc),
        ),
    ]);
    cases
}

type Owned = (PerCpuArc<Value>, PerCpuArcOwner<Value>);

/// One clone, a look and a drop.
#[inline]
fn visit<R: Clone + std::ops::Deref<Target = Value>>(shared: &R) {
    go_round::<1, R>(shared, |one| &one[0], 1);
}

fn swept<T: 'static>(
    peer: &'static str,
    make: impl Fn() -> T + 'static,
    visit: impl Fn(&T) + Copy + 'static,
) -> Case {
    let scene = format!("clone + drop, {}", cold::NAME);
    cold::case(scene, peer, 1, make, move |shared, _| visit(shared))
}

/// What the count was built to reach.
pub(super) fn goals() -> Vec<Goal> {
    let scene = |threads| Scene { held: 1, killed: false, threads }.name();
    let mut goals = vec![
        Goal { own: (scene(1), OURS), than: (scene(1), ARC), most: 0.5 },
        Goal { own: (scene(1), OURS), than: (scene(1), "PerCpuCell inc + dec"), most: 2.0 },
    ];
    if threads::two_cpus() {
        goals.push(Goal { own: (scene(2), OURS), than: (scene(1), OURS), most: 1.05 });
    }
    goals
}
